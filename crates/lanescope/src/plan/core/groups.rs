//! Flow groups: flows that one table of a scenario declares.

/// The places of things in a row that are of one group each, by the groups' names.
pub(in crate::plan) fn groups<'a>(names: impl Iterator<Item = &'a str>) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut last = None;
    for (i, name) in names.enumerate() {
        match groups.last_mut() {
            Some(group) if last == Some(name) => group.push(i),
            _ => groups.push(vec![i]),
        }
        last = Some(name);
    }
    groups
}
