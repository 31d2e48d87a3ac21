//! A serial link of storage: frames between an adapter's port and a target's, both ways at once, each frame against a
//! credit. What Fibre Channel and SAS have in common is here, and what differs as arithmetic; simulation and estimate
//! ask the same functions.

use crate::protocol::{ethernet::flight, fibre_channel as fc, sas};
use crate::scenario::keys::{FcLink, SasLink, Setting};
use crate::scenario::quantity::{Corner, Names, Quantity};
use crate::units::{Bytes, Length, Rate, Time};

/// The values of a serial link.
#[derive(Clone, Debug)]
pub enum SerialKeys {
    /// Fibre Channel.
    Fc(FcLink),
    /// SAS.
    Sas(SasLink),
}

/// What a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A command.
    Command,
    /// Leave to send a write's data.
    Ready,
    /// So many bytes of data.
    Data(u32),
    /// A command's status.
    Response,
}

/// What one command puts on each direction of a link, bytes of a busy wire: frames, what stands around and between
/// them, connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Exchange {
    /// From the adapter to the target.
    pub to_target: u64,
    /// Back.
    pub to_initiator: u64,
}

/// How frames go over a link.
#[derive(Clone, Copy, Debug)]
pub struct Serial {
    sas: bool,
    /// Signalled bits, one way.
    pub raw: Rate,
    /// After line coding: bytes of the wire, or slots.
    pub rate: Rate,
    /// Data of a full frame.
    pub frame: u64,
    /// Through the cable.
    pub flight: Time,
    /// Slots for which an opened connection carries nothing.
    quiet: u64,
}

impl SerialKeys {
    /// The link at a corner of its values.
    pub(crate) fn at(&self, corner: Corner) -> Serial {
        match self {
            SerialKeys::Fc(k) => Serial {
                sas: false,
                raw: k.fc.typical.raw(),
                rate: k.fc.typical.rate(),
                frame: k.frame.at(corner).0,
                flight: flight(k.length.at(corner)),
                quiet: 0,
            },
            SerialKeys::Sas(k) => {
                let rate = k.sas.typical.rate();
                Serial {
                    sas: true,
                    raw: k.sas.typical.raw(),
                    rate,
                    frame: k.frame.at(corner).0,
                    flight: flight(k.length.at(corner)),
                    quiet: rate.slots(k.connection.at(corner)),
                }
            }
        }
    }

    /// The same with typical values.
    pub fn typical(&self) -> Serial {
        self.at(Corner::Typical)
    }

    /// `4GFC`, `3G SAS`.
    pub(crate) fn speed(&self) -> String {
        match self {
            SerialKeys::Fc(k) => k.fc.typical.to_string(),
            SerialKeys::Sas(k) => format!("{} SAS", k.sas.typical),
        }
    }

    /// Its ends, the data of a full frame with the most that there may be and where that stands, and its length.
    pub(super) fn parts(&self) -> (&Quantity<Names>, &Quantity<Bytes>, (u64, &'static str), &Quantity<Length>) {
        match self {
            SerialKeys::Fc(k) => (&k.between, &k.frame, (fc::MOST_FIELD, "FC-FS"), &k.length),
            SerialKeys::Sas(k) => (&k.between, &k.frame, (sas::MOST_UNIT, "SPL: a DATA information unit"), &k.length),
        }
    }

    /// Every value with its origin.
    pub(super) fn settings(&self) -> Vec<Setting> {
        match self {
            SerialKeys::Fc(k) => k.settings(),
            SerialKeys::Sas(k) => k.settings(),
        }
    }
}

impl Serial {
    /// What is sent, in the words of the medium: command, leave, data, status, and what answers frames.
    pub(crate) fn steps(&self) -> [&'static str; 5] {
        if self.sas {
            ["COMMAND", "XFER_RDY", "DATA", "RESPONSE", "ACK, RRDY"]
        } else {
            ["FCP_CMND", "FCP_XFER_RDY", "FCP_DATA", "FCP_RSP", "R_RDY"]
        }
    }

    /// Frames of one command to its target, and back.
    pub(crate) fn frames(&self, read: bool, size: u64) -> [u64; 2] {
        let data = size.div_ceil(self.frame);
        // A write has leave to send its data.
        if read { [1, data + 1] } else { [1 + data, 2] }
    }

    /// Bytes that a frame carries.
    pub(crate) fn field(&self, unit: Unit) -> u64 {
        let [command, ready, response] = match self.sas {
            true => [sas::COMMAND, sas::XFER_RDY, sas::RESPONSE],
            false => [fc::CMND, fc::XFER_RDY, fc::RSP],
        };
        match unit {
            Unit::Command => command,
            Unit::Ready => ready,
            Unit::Data(bytes) => bytes as u64,
            Unit::Response => response,
        }
    }

    /// Bytes of a frame, from its start to its end.
    pub(crate) fn bytes(&self, unit: Unit) -> u64 {
        let field = self.field(unit);
        if self.sas { sas::frame(field) } else { fc::frame(field) }
    }

    /// Slots that opening a connection takes before its first frame; none where there are no connections.
    pub fn opening(&self) -> u64 {
        if self.sas { sas::OPENER + self.quiet } else { 0 }
    }

    /// Slots behind a frame: those that answer so many frames of the other direction, and so many connections of it, go
    /// there.
    pub(crate) fn gap(&self, frames: u64, connections: u64) -> u64 {
        if self.sas { self.answers(frames, connections) } else { fc::gap(frames) }
    }

    /// Slots of those answers alone.
    pub fn answers(&self, frames: u64, connections: u64) -> u64 {
        if self.sas { sas::ANSWER * frames + sas::ACCEPTER * connections } else { fc::PRIMITIVE * frames }
    }

    /// A read of so many bytes.
    pub(crate) fn read(&self, bytes: u64) -> Exchange {
        if self.sas {
            self.with_quiet(sas::read(bytes, self.frame))
        } else {
            let fc::Exchange { to_target, to_initiator, .. } = fc::read(bytes, self.frame);
            Exchange { to_target, to_initiator }
        }
    }

    /// A write of so many bytes, all asked for at once.
    pub(crate) fn write(&self, bytes: u64) -> Exchange {
        if self.sas {
            self.with_quiet(sas::write(bytes, self.frame))
        } else {
            let fc::Exchange { to_target, to_initiator, .. } = fc::write(bytes, self.frame, 0);
            Exchange { to_target, to_initiator }
        }
    }

    fn with_quiet(&self, x: sas::Exchange) -> Exchange {
        Exchange {
            to_target: x.to_target.saturating_add(self.quiet.saturating_mul(x.opened_by_initiator)),
            to_initiator: x.to_initiator.saturating_add(self.quiet.saturating_mul(x.opened_by_target)),
        }
    }
}
