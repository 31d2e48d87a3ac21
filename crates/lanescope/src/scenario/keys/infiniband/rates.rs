//! How line rates and MTUs of InfiniBand are written.

use super::*;
use crate::protocol::infiniband::{LineRate, Mtu};
use crate::scenario::quantity::{expected, size_shape};
use std::cmp::Ordering;

impl Shape for LineRate {
    const NUMBER: bool = false;
    fn read(node: &Node) -> Result<Self, Problem> {
        let hint = "a speed (sdr, ddr, qdr, fdr10, fdr, edr, hdr, ndr, xdr) and a width (1x, 2x, 4x, 8x, 12x), e.g. \
            \"edr 4x\"";
        match &node.value {
            Value::Text(s) => LineRate::parse(s).ok_or_else(|| {
                Problem(format!("there is no InfiniBand of {:?}", s.chars().take(40).collect::<String>()), hint.into())
            }),
            _ => Err(Problem(expected("a speed and width of InfiniBand", node).0, hint.into())),
        }
    }
    fn show(&self) -> String {
        self.to_string()
    }
    fn schema() -> Json {
        json!({ "enum": LineRate::all().map(|r| r.to_string()).collect::<Vec<_>>() })
    }
}

size_shape!(Mtu, "an MTU", "InfiniBand has 256, 512, 1024, 2048 and 4096 B (IBA 7.7.8)");

#[cfg(test)]
mod tests {
    use super::*;

    fn value<T: Shape>(toml: &str) -> Result<T, String> {
        let mut d = Diagnostics::default();
        let source = d.add_source("test", format!("x = {toml}"));
        let table = crate::scenario::tree::parse(&mut d, source, Author::User).expect("TOML");
        T::read(table.get("x").expect("x")).map_err(|Problem(what, hint)| format!("{what}; {hint}"))
    }

    #[test]
    fn what_is_shown_is_read() {
        for rate in LineRate::all() {
            assert_eq!(value(&format!("{:?}", rate.show())), Ok(rate));
        }
        for mtu in Mtu::ALL {
            assert_eq!(value(&format!("{:?}", mtu.show())), Ok(mtu));
        }
        assert_eq!(value("\"4096 B\""), Ok(Mtu::ALL[4]));
    }

    #[test]
    fn what_there_is_not_is_said() {
        for (toml, words) in [("\"edr 3x\"", "no InfiniBand of \"edr 3x\""), ("4", "expected a speed and width")] {
            let wrong = value::<LineRate>(toml).expect_err("wrong");
            assert!(wrong.contains(words) && wrong.contains("\"edr 4x\""), "{wrong}");
        }
        assert!(value::<Mtu>("\"1500 B\"").expect_err("wrong").contains("cannot be 1500 B; InfiniBand has 256"));
        assert!(value::<Mtu>("2048").expect_err("wrong").contains("needs its unit"));
    }
}
