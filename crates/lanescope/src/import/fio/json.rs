pub struct Entry; pub struct Lat; pub struct Output; pub struct Side; pub fn load_of(){}
