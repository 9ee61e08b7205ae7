//! Lets serde read file formats out of a parsed [`Json`], so that every file goes through our parser.

use std::collections::HashSet;
use std::fmt;

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::{Json, JsonLimits, Number, Object};

/// A document that has another shape than its format says.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ShapeError(String);

impl std::error::Error for ShapeError {}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl serde::de::Error for ShapeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

impl<'de> Deserializer<'de> for &'de Json {
    type Error = ShapeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ShapeError> {
        match self {
            Json::Null => visitor.visit_unit(),
            Json::Bool(value) => visitor.visit_bool(*value),
            Json::Number(number) => visit_number(number, visitor),
            Json::String(text) => visitor.visit_borrowed_str(text),
            Json::Array(items) => {
                let mut seq = SeqDeserializer::new(items.iter());
                let value = visitor.visit_seq(&mut seq)?;
                seq.end()?;
                Ok(value)
            }
            Json::Object(object) => {
                let mut map = MapDeserializer::new(object.iter());
                let value = visitor.visit_map(&mut map)?;
                map.end()?;
                Ok(value)
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ShapeError> {
        match self {
            Json::Null => visitor.visit_none(),
            Json::Bool(_)
            | Json::Number(_)
            | Json::String(_)
            | Json::Array(_)
            | Json::Object(_) => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ShapeError> {
        match self {
            Json::Number(number) if name == AS_WRITTEN => {
                visitor.visit_borrowed_bytes(number.as_str().as_bytes())
            }
            Json::Null
            | Json::Bool(_)
            | Json::Number(_)
            | Json::String(_)
            | Json::Array(_)
            | Json::Object(_) => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ShapeError> {
        visitor.visit_enum(UnitVariant(self))
    }

    /// Takes objects only: serde would also take an array, field by field, which no format of ours is.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ShapeError> {
        match self {
            Json::Object(_) => self.deserialize_any(visitor),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
                Err(serde::de::Error::custom("expected an object"))
            }
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}

fn visit_number<'de, V: Visitor<'de>>(number: &Number, visitor: V) -> Result<V::Value, ShapeError> {
    let text = number.as_str();
    if let Ok(value) = text.parse() {
        return visitor.visit_u64(value);
    }
    if let Ok(value) = text.parse() {
        return visitor.visit_i64(value);
    }
    match text.parse() {
        Ok(value) => visitor.visit_f64(value),
        Err(_) => Err(ShapeError(format!("the number `{text}` is out of range"))),
    }
}

impl<'de> IntoDeserializer<'de, ShapeError> for &'de Json {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// Our formats write variants as plain strings.
struct UnitVariant<'de>(&'de Json);

impl<'de> EnumAccess<'de> for UnitVariant<'de> {
    type Error = ShapeError;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Self), ShapeError> {
        Ok((seed.deserialize(self.0)?, self))
    }
}

impl<'de> VariantAccess<'de> for UnitVariant<'de> {
    type Error = ShapeError;

    fn unit_variant(self) -> Result<(), ShapeError> {
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, _: S) -> Result<S::Value, ShapeError> {
        Err(serde::de::Error::custom("expected a plain string"))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, ShapeError> {
        Err(serde::de::Error::custom("expected a plain string"))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, ShapeError> {
        Err(serde::de::Error::custom("expected a plain string"))
    }
}

/// Asks our deserializer for numbers as they were written, handed over as bytes.
///
/// JSON has no bytes, so nothing in a document can be taken for such a number. Any other
/// deserializer sees an ordinary newtype and gives numbers in its own way.
const AS_WRITTEN: &str = "$ic_types::Json";

impl<'de> serde::Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(AS_WRITTEN, JsonVisitor)
    }
}

/// Copies a part of a document, for the fields of a format that hold any JSON.
struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bytes<E: serde::de::Error>(self, written: &[u8]) -> Result<Json, E> {
        match Json::parse(written, JsonLimits::ARTIFACT) {
            Ok(number @ Json::Number(_)) => Ok(number),
            Ok(_) | Err(_) => Err(E::custom("expected a number as it was written")),
        }
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::from(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Number(Number(value.to_string().into())))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Json, E> {
        if value.is_finite() {
            Ok(Json::Number(Number(format!("{value:e}").into())))
        } else {
            Err(E::custom("the number is out of range"))
        }
    }

    fn visit_str<E>(self, text: &str) -> Result<Json, E> {
        Ok(Json::from(text))
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut seq: A) -> Result<Json, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Json::Array(items))
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let mut entries: Vec<(String, Json)> = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        // Our parser has refused duplicate keys before this; other deserializers have not.
        let mut seen = HashSet::new();
        if let Some((key, _)) = entries.iter().find(|(key, _)| !seen.insert(key.as_str())) {
            return Err(serde::de::Error::custom(format!("duplicate key `{key}`")));
        }
        Ok(Json::Object(Object(entries)))
    }
}
