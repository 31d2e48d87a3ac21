//! Idle slots by cause, in JSON: an object with a named number for each cause, so that a reader needs no order, and a
//! new cause moves no other.

use crate::result::{BusIdle, Idle};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The word that JSON has for a cause.
fn word<C: Serialize>(cause: C) -> String {
    match serde_json::to_value(cause) {
        Ok(serde_json::Value::String(word)) => word,
        // Causes are enums without fields.
        other => unreachable!("a cause is a word, not {other:?}"),
    }
}

macro_rules! by_cause {
    ($module:ident, $shape:ident, $cause:ty, $title:literal) => {
        pub(in crate::result) mod $module {
            use super::*;
            const N: usize = <$cause>::ALL.len();

            pub(in crate::result) fn serialize<S: Serializer>(counts: &[u64; N], s: S) -> Result<S::Ok, S::Error> {
                s.collect_map(<$cause>::ALL.into_iter().map(word).zip(counts))
            }

            pub(in crate::result) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<[u64; N], D::Error> {
                let mut named = BTreeMap::<String, u64>::deserialize(d)?;
                let mut counts = [0; N];
                for (cause, count) in <$cause>::ALL.into_iter().zip(&mut counts) {
                    *count = named.remove(&word(cause)).unwrap_or(0);
                }
                match named.into_keys().next() {
                    Some(unknown) => Err(D::Error::custom(format!("{unknown:?} is no cause of idle slots"))),
                    None => Ok(counts),
                }
            }
        }

        /// The schema of such an object.
        pub(in crate::result) struct $shape;

        impl JsonSchema for $shape {
            fn schema_name() -> Cow<'static, str> {
                $title.into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let of = |c: $cause| {
                    let what = serde_json::json!({ "type": "integer", "minimum": 0, "description": c.words() });
                    (word(c), what)
                };
                let properties: serde_json::Map<_, _> = <$cause>::ALL.into_iter().map(of).collect();
                let required: Vec<&String> = properties.keys().collect();
                schemars::json_schema!({
                    "type": "object", "description": "Idle slots by cause.", "additionalProperties": false,
                    "required": required, "properties": properties,
                })
            }
        }
    };
}

by_cause!(of_links, Links, Idle, "IdleByCause");
by_cause!(of_buses, Buses, BusIdle, "BusIdleByCause");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::{BusClocks, SlotCounts};

    #[test]
    fn causes_have_names_and_no_order() {
        let mut slots = SlotCounts::default();
        slots.idle[Idle::Paused as usize] = 7;
        let mut json = serde_json::to_value(slots).expect("JSON");
        assert_eq!(json["idle"]["paused"], 7);
        assert_eq!(json["idle"].as_object().map(|o| o.len()), Some(Idle::ALL.len()));
        assert_eq!(serde_json::from_value::<SlotCounts>(json.clone()).expect("read"), slots);
        json["idle"]["bored"] = 1.into();
        assert!(serde_json::from_value::<SlotCounts>(json).is_err(), "an unknown cause is no cause");
        let mut clocks = BusClocks::default();
        clocks.idle[BusIdle::Reads as usize] = 3;
        let json = serde_json::to_value(clocks).expect("JSON");
        assert_eq!(json["idle"], serde_json::json!({ "nothing": 0, "port": 0, "memory": 0, "reads": 3 }));
        assert_eq!(serde_json::from_value::<BusClocks>(json).expect("read"), clocks);
    }
}
