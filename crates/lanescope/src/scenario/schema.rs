//! The JSON Schema of a scenario, and the same as a page of text, both from the declarations in [`super::keys`].

use super::gpu::{self, KIND};
use super::keys::{
    COLLECTIVES, FLOW_KINDS, GPU_CLUSTER, GPU_NETWORK, GPU_NODE, Key, LINK_KINDS, PART_KINDS, RUN, TABLES, TableKind,
};
use serde_json::{Map, Value as Json, json};

/// The keys of [`gpu::TABLES`].
const GPU_TABLES: [&[Key]; 3] = [GPU_NODE, GPU_NETWORK, COLLECTIVES];

/// The JSON Schema (2020-12) that editors complete a scenario with.
pub fn json_schema() -> Json {
    let table = |keys: &[&[Key]], extra: &[(&str, Json)], required: bool| {
        let mut properties = Map::new();
        for (name, schema) in extra {
            properties.insert((*name).into(), schema.clone());
        }
        let mut must = Vec::new();
        for key in keys.iter().flat_map(|k| k.iter()) {
            // Kinds of parts have keys of one name that mean different things.
            let own = property(key);
            let schema = match properties.remove(key.name) {
                Some(other) if other != own => json!({ "anyOf": [other, own] }),
                _ => own,
            };
            properties.insert(key.name.into(), schema);
            if key.required && required {
                must.push(key.name);
            }
        }
        for name in ["origin", "confidence", "source"] {
            properties.insert(name.into(), provenance(name));
        }
        json!({ "type": "object", "additionalProperties": false, "required": must, "properties": properties })
    };
    let common = [
        ("use", json!({ "type": "string", "description": "A device of the library, or a path to your own file." })),
        (
            "is",
            json!({
                "enum": PART_KINDS.map(|row| row.word),
                "description": "What the part is, where no device is used.",
            }),
        ),
        ("count", json!({ "type": "integer", "minimum": 1, "description": "So many alike: name.0, name.1, …" })),
        ("about", json!({ "type": "string" })),
    ];
    let part = table(&PART_KINDS.map(|row| row.keys), &common, false);
    let links = LINK_KINDS.map(|kind| table(&[kind.keys], &[], false));
    let flows = FLOW_KINDS.map(|kind| table(&[kind.keys], &[], true));
    let many = |schema: Json| json!({ "type": "object", "additionalProperties": schema });
    let mut properties = json!({
        "title": { "type": "string" },
        "about": { "type": "string" },
        "kind": { "enum": ["platform", "device", "scenario", KIND] },
        "platform": {
            "type": "string",
            "description": "A platform of the library, or a path to your own file; this file adds to it.",
        },
        "parts": many(part),
        "links": many(json!({ "anyOf": links })),
        "flows": many(json!({ "anyOf": flows })),
        "run": table(&[RUN], &[], false),
    });
    // A GPU cluster is written by rule, and has none of the tables above.
    let mut cluster = Map::new();
    for key in GPU_CLUSTER {
        cluster.insert(key.name.into(), property(key));
    }
    for (name, keys) in gpu::TABLES.into_iter().zip(GPU_TABLES) {
        cluster.insert(name.into(), table(&[keys], &[], true));
    }
    let none = |names: &[&str]| -> Json {
        let none: Map<String, Json> = names.iter().map(|n| ((*n).to_owned(), json!(false))).collect();
        json!({ "properties": none })
    };
    let only_cluster: Vec<&str> = cluster.keys().map(String::as_str).collect();
    let said = json!({ "properties": { "kind": { "const": KIND } }, "required": ["kind"] });
    let choice = json!({
        "if": { "anyOf": [said, { "required": ["node"] }] },
        "then": none(&["about", "platform", "parts", "links", "flows", "run"]),
        "else": none(&only_cluster),
    });
    if let Some(all) = properties.as_object_mut() {
        all.extend(cluster);
    }
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "lanescope scenario",
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
    });
    if let (Some(all), Json::Object(choice)) = (schema.as_object_mut(), choice) {
        all.extend(choice);
    }
    schema
}

fn property(key: &Key) -> Json {
    let value = (key.schema)();
    let mut with = Map::new();
    for name in ["origin", "confidence", "source"] {
        with.insert(name.into(), provenance(name));
    }
    let mut single = with.clone();
    single.insert("value".into(), value.clone());
    let mut forms = vec![
        value.clone(),
        json!({ "type": "object", "required": ["value"], "additionalProperties": false, "properties": single }),
    ];
    if key.ranged {
        for end in ["low", "typical", "high"] {
            with.insert(end.into(), value.clone());
        }
        forms.push(json!({
            "type": "object", "required": ["low", "typical", "high"], "additionalProperties": false, "properties": with,
        }));
    }
    json!({ "description": describe(key), "anyOf": forms })
}

fn provenance(name: &str) -> Json {
    match name {
        "origin" => json!({ "enum": ["stated", "standard", "fitted", "assumed"] }),
        "confidence" => json!({ "enum": ["exact", "likely", "guess"] }),
        _ => json!({ "type": "string" }),
    }
}

fn describe(key: &Key) -> String {
    match key.default {
        Some((value, why)) => format!("{} Default: {value} ({why}).", key.doc.trim()),
        None if key.required => format!("{} Required.", key.doc.trim()),
        None => key.doc.trim().to_owned(),
    }
}

/// ` One of a, b, c.` of a key whose values are words.
fn words(key: &Key) -> String {
    let schema = (key.schema)();
    let Some(all) = schema.get("enum").and_then(Json::as_array) else { return String::new() };
    let all: Vec<&str> = all.iter().filter_map(Json::as_str).collect();
    if all.len() < 2 { String::new() } else { format!(" One of {}.", all.join(", ")) }
}

/// All keys as a page for people.
pub fn text() -> String {
    let mut out = String::new();
    // Flows over PCIe and over a bus have the same keys.
    for TableKind { title, keys, .. } in TABLES.iter().filter(|t| t.name != "bus-dma") {
        out += &format!("{title}\n");
        for key in *keys {
            out += &format!("  {:<22} {}{}\n", key.name, describe(key), words(key));
        }
        out.push('\n');
    }
    let titles = ["node = { … }", "network = { … }", "collectives = { … }"];
    let cluster = std::iter::once(("nodes, down", GPU_CLUSTER)).chain(titles.into_iter().zip(GPU_TABLES));
    for (title, keys) in cluster {
        out += &format!("{title}, with kind = {KIND:?}\n");
        for key in keys {
            out += &format!("  {:<22} {}{}\n", key.name, describe(key), words(key));
        }
        out.push('\n');
    }
    out
}
