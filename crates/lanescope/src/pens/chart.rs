//! stub
/// s
pub struct Series { /// n
 pub name: String, /// p
 pub points: Vec<(f64,f64)> }
/// c
pub struct Chart<'a> { /// t
 pub title: &'a str, /// x
 pub x: &'a str, /// y
 pub y: &'a str, /// l
 pub log_x: bool, /// b
 pub x_unit_bytes: bool, /// s
 pub series: &'a [Series] }
impl Chart<'_> { /// s
 pub fn svg(&self) -> String { String::new() } }
