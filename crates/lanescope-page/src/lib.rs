//! The engine of the page: the laboratory as a module of WebAssembly, text in, text out.
//!
//! A request is JSON, and so is its answer; what there is to ask is in [`Lab`]. The module has four functions for the
//! page's script, in the plainest form that WebAssembly has: memory for a request, the call, where its answer is, and
//! the last words of a panic. So it needs no tool that writes JavaScript beside it. All that a page shows is worked out
//! here, by the same library as the command's.

mod lab;

pub use lab::{Held, Lab};

use std::cell::RefCell;

thread_local! {
    /// WebAssembly has one thread: the laboratory, the request that is being written, the last answer, and what a panic
    /// said.
    static LAB: RefCell<(Lab, Vec<u8>, String)> = RefCell::default();
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Makes room for a request of so many bytes, and says where: the script writes it there before [`lanescope_call`].
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn lanescope_room(bytes: usize) -> *mut u8 {
    LAB.with_borrow_mut(|(_, request, _)| {
        request.clear();
        request.resize(bytes, 0);
        request.as_mut_ptr()
    })
}

/// Answers the request; gives the length of the answer.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn lanescope_call() -> usize {
    std::panic::set_hook(Box::new(|what| PANIC.with_borrow_mut(|said| *said = what.to_string())));
    LAB.with_borrow_mut(|(lab, request, answer)| {
        *answer = lab.call(&String::from_utf8_lossy(request));
        answer.len()
    })
}

/// Where the answer is.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn lanescope_answer() -> *const u8 {
    LAB.with_borrow(|(_, _, answer)| answer.as_ptr())
}

/// After a trap: puts what the panic said where [`lanescope_said`] is, and gives its length; 0 where nothing panicked
/// (no memory was left).
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn lanescope_panic() -> usize {
    PANIC.with_borrow(String::len)
}

/// Where the words of a panic are.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
pub extern "C" fn lanescope_said() -> *const u8 {
    PANIC.with_borrow(|said| said.as_ptr())
}
