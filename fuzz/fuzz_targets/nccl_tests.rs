#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    lanescope_fuzz::bodies::collectives::nccl_tests(data);
});
