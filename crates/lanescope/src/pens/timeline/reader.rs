//! A file of the pen, read back as Perfetto's reference says.

use super::{BEGIN, CLEARED, COUNTER, END, NEEDED, SEQUENCE, Written, write};
use crate::result::timeline::Timeline;
use std::collections::BTreeMap;

/// A field of a message: number, and its value or its bytes.
#[derive(Clone, Debug, PartialEq)]
enum Field {
    Number(u64),
    Bytes(Vec<u8>),
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let byte = bytes[0];
        *bytes = &bytes[1..];
        value |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            break;
        }
    }
    value
}

fn fields(mut bytes: &[u8]) -> Vec<(u64, Field)> {
    let mut list = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let value = match key & 7 {
            0 => Field::Number(varint(&mut bytes)),
            1 => {
                let (fixed, rest) = bytes.split_at(8);
                bytes = rest;
                Field::Number(u64::from_le_bytes(fixed.try_into().expect("eight bytes")))
            }
            2 => {
                let length = varint(&mut bytes) as usize;
                let (body, rest) = bytes.split_at(length);
                bytes = rest;
                Field::Bytes(body.to_vec())
            }
            wire => panic!("wire type {wire}"),
        };
        list.push((key >> 3, value));
    }
    list
}

/// The numbers of a field of a message, and the messages or texts.
fn numbers(message: &[(u64, Field)], field: u64) -> Vec<u64> {
    let number = |f: &(u64, Field)| if let (n, Field::Number(v)) = f { (*n == field).then_some(*v) } else { None };
    message.iter().filter_map(number).collect()
}

fn bodies(message: &[(u64, Field)], field: u64) -> Vec<Vec<u8>> {
    let body = |f: &(u64, Field)| if let (n, Field::Bytes(v)) = f { (*n == field).then(|| v.clone()) } else { None };
    message.iter().filter_map(body).collect()
}

fn text(message: &[(u64, Field)], field: u64) -> String {
    String::from_utf8(bodies(message, field).concat()).expect("UTF-8")
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Slice {
    pub(super) row: String,
    pub(super) name: String,
    pub(super) begin: u64,
    pub(super) end: u64,
    pub(super) depth: usize,
    pub(super) args: Vec<(String, u64)>,
}

#[derive(Debug, Default)]
pub(super) struct Trace {
    /// (path, rank) by row.
    pub(super) rows: BTreeMap<u64, (String, u64)>,
    pub(super) slices: Vec<Slice>,
    /// Indexes of slices.
    pub(super) flows: Vec<(usize, usize)>,
    pub(super) samples: Vec<(String, u64, i64)>,
}

/// Reads a file as Perfetto's reference says, and holds it to what it asks for.
pub(super) fn read(file: &[u8]) -> Trace {
    let mut trace = Trace::default();
    let (mut words, mut keys) = (BTreeMap::new(), BTreeMap::new());
    let mut open: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    let mut flows: BTreeMap<u64, usize> = BTreeMap::new();
    let mut now = 0;
    for (n, (field, packet)) in fields(file).into_iter().enumerate() {
        let Field::Bytes(packet) = packet else { panic!("a packet") };
        let packet = fields(&packet);
        assert_eq!((field, numbers(&packet, 10)), (1, vec![SEQUENCE]));
        assert_eq!(numbers(&packet, 13), [if n == 0 { CLEARED } else { NEEDED }]);
        for data in bodies(&packet, 12) {
            for (field, table) in [(2, &mut words), (3, &mut keys)] {
                for entry in bodies(&fields(&data), field) {
                    let entry = fields(&entry);
                    assert!(table.insert(numbers(&entry, 1)[0], text(&entry, 2)).is_none());
                }
            }
        }
        for row in bodies(&packet, 60) {
            let row = fields(&row);
            let above = numbers(&row, 5).first().map_or(String::new(), |p| format!("{}/", trace.rows[p].0));
            let rank = numbers(&row, 12).first().copied().unwrap_or(0);
            let told = trace.rows.insert(numbers(&row, 1)[0], (format!("{above}{}", text(&row, 2)), rank));
            assert!(told.is_none());
        }
        for event in bodies(&packet, 11) {
            let (event, at) = (fields(&event), numbers(&packet, 8)[0]);
            assert!(at >= now, "time runs back");
            now = at;
            let (kind, row) = (numbers(&event, 9)[0], numbers(&event, 11)[0]);
            let path = trace.rows[&row].0.clone();
            let stack = open.entry(row).or_default();
            if kind == COUNTER {
                trace.samples.push((path, at, numbers(&event, 30)[0] as i64));
                continue;
            }
            if kind == END {
                trace.slices[stack.pop().expect("something is open")].end = at;
                continue;
            }
            let arg = |a: &Vec<u8>| (keys[&numbers(&fields(a), 1)[0]].clone(), numbers(&fields(a), 3)[0]);
            let args = bodies(&event, 4).iter().map(arg).collect();
            let name = words[&numbers(&event, 10)[0]].clone();
            let index = trace.slices.len();
            trace.slices.push(Slice { row: path, name, begin: at, end: at, depth: stack.len(), args });
            if kind == BEGIN {
                stack.push(index);
            }
            for id in numbers(&event, 47) {
                assert!(flows.insert(id, index).is_none(), "an arrow starts once");
            }
            for id in numbers(&event, 48) {
                trace.flows.push((flows.remove(&id).expect("an arrow has started"), index));
            }
        }
    }
    assert!(open.values().all(Vec::is_empty) && flows.is_empty());
    trace
}

pub(super) fn written(t: &Timeline) -> (Trace, Written) {
    let mut file = Vec::new();
    let done = write(t, &mut file).expect("a vector takes all");
    assert_eq!(done.bytes, file.len() as u64);
    (read(&file), done)
}
