//! Other people's formats: traces of programs, and the tables that instruments print.
