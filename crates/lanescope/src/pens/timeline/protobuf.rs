//! Protobuf's wire format, as far as a time line needs it: varints, fixed 64-bit numbers, and whatever has a length.

/// A message of protobuf that is being written.
#[derive(Default)]
pub(super) struct Message(pub(super) Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    pub(super) fn number(&mut self, field: u32, value: u64) {
        self.varint(u64::from(field) << 3);
        self.varint(value);
    }

    pub(super) fn fixed(&mut self, field: u32, value: u64) {
        self.varint(u64::from(field) << 3 | 1);
        self.0.extend(value.to_le_bytes());
    }

    pub(super) fn text(&mut self, field: u32, text: &str) {
        self.message(field, |m| m.0.extend(text.as_bytes()));
    }

    /// A message within: its length goes before it when it is known.
    pub(super) fn message(&mut self, field: u32, body: impl FnOnce(&mut Message)) {
        self.varint(u64::from(field) << 3 | 2);
        let start = self.0.len();
        body(self);
        let end = self.0.len();
        self.varint((end - start) as u64);
        let length = self.0.len() - end;
        self.0[start..].rotate_right(length);
    }
}
