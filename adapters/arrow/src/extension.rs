//! The extension types that make tensors of columns: `arrow.fixed_shape_tensor` and `arrow.bool8`.
//!
//! Their metadata are read and written here and not by arrow-schema, which misspells a key (`permutations`), so that it
//! cannot load the files of other libraries. Here both spellings are read, and the format's own is written.

use arrow_schema::extension::{EXTENSION_TYPE_METADATA_KEY, EXTENSION_TYPE_NAME_KEY};
use arrow_schema::{DataType, Field};
use dlbridge_core::Error;
use serde_json::{Map, Value, json};

const BOOL8: &str = "arrow.bool8";
const FIXED_SHAPE_TENSOR: &str = "arrow.fixed_shape_tensor";

/// The metadata of `arrow.fixed_shape_tensor`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FixedShape {
    /// The lengths of the axes as they lie in memory, row-major.
    pub(crate) shape: Vec<usize>,
    /// For each axis of the tensor, the index of the same axis in memory. `None` if the order is the same.
    pub(crate) permutation: Option<Vec<usize>>,
    /// The names of the axes as they lie in memory.
    pub(crate) dim_names: Option<Vec<String>>,
}

impl FixedShape {
    /// The metadata of `field`; `None` if it does not have this extension type.
    pub(crate) fn of(field: &Field) -> Result<Option<Self>, Error> {
        if field.extension_type_name() != Some(FIXED_SHAPE_TENSOR) {
            return Ok(None);
        }
        let DataType::FixedSizeList(_, size) = field.data_type() else {
            return Err(invalid("the storage type is not FixedSizeList"));
        };
        let size = usize::try_from(*size).map_err(|_| invalid("the size of the list is negative"))?;
        Self::parse(field.extension_type_metadata().unwrap_or_default())?.checked(size).map(Some)
    }

    fn parse(metadata: &str) -> Result<Self, Error> {
        let value: Value = serde_json::from_str(metadata).map_err(|_| invalid("the metadata are no JSON"))?;
        let list = |key: &str| match value.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => value.as_array().map(Some).ok_or(invalid("a key of the metadata holds no list")),
        };
        let numbers = |list: &Vec<Value>| -> Result<Vec<usize>, Error> {
            let number = |value: &Value| value.as_u64().and_then(|number| usize::try_from(number).ok());
            list.iter().map(number).collect::<Option<_>>().ok_or(invalid("a list holds something else than lengths"))
        };
        let names = |list: &Vec<Value>| -> Result<Vec<String>, Error> {
            let name = |value: &Value| value.as_str().map(str::to_owned);
            list.iter().map(name).collect::<Option<_>>().ok_or(invalid("dim_names holds something else than strings"))
        };
        let shape = list("shape")?.ok_or(invalid("the metadata have no shape"))?;
        let permutation = match list("permutation")? {
            Some(permutation) => Some(permutation),
            None => list("permutations")?,
        };
        Ok(Self {
            shape: numbers(shape)?,
            permutation: permutation.map(numbers).transpose()?,
            dim_names: list("dim_names")?.map(names).transpose()?,
        })
    }

    /// The same metadata, checked: they are consistent and describe a tensor of `size` elements.
    fn checked(self, size: usize) -> Result<Self, Error> {
        let product = self.shape.iter().try_fold(1usize, |product, length| product.checked_mul(*length));
        if product != Some(size) {
            return Err(invalid("the shape does not multiply to the size of the list"));
        }
        if let Some(permutation) = &self.permutation {
            let mut sorted = permutation.clone();
            sorted.sort_unstable();
            if !sorted.into_iter().eq(0..self.shape.len()) {
                return Err(invalid("the permutation does not name each axis once"));
            }
        }
        if self.dim_names.as_ref().is_some_and(|names| names.len() != self.shape.len()) {
            return Err(invalid("dim_names are not as many as axes"));
        }
        Ok(self)
    }

    /// For each axis of the tensor, the index of the same axis in memory.
    pub(crate) fn order(&self) -> Vec<usize> {
        self.permutation.clone().unwrap_or_else(|| (0..self.shape.len()).collect())
    }

    /// The same metadata with these names, given in the order of the tensor's axes.
    pub(crate) fn with_logical_names(self, names: &[&str]) -> Result<Self, Error> {
        let mut in_memory = vec![String::new(); self.shape.len()];
        if names.len() != in_memory.len() {
            return Err(invalid("dim_names are not as many as axes"));
        }
        self.order().into_iter().zip(names).for_each(|(axis, name)| in_memory[axis] = (*name).to_owned());
        Ok(Self { dim_names: Some(in_memory), ..self })
    }

    /// The names of the axes, in the order of the tensor's axes.
    pub(crate) fn logical_names(&self) -> Option<Vec<String>> {
        let names = self.dim_names.as_ref()?;
        Some(self.order().into_iter().map(|axis| names[axis].clone()).collect())
    }

    /// `field` with this extension type.
    pub(crate) fn mark(&self, field: Field) -> Field {
        let mut metadata = Map::from_iter([("shape".to_owned(), json!(self.shape))]);
        metadata.extend(self.permutation.as_ref().map(|axes| ("permutation".to_owned(), json!(axes))));
        metadata.extend(self.dim_names.as_ref().map(|names| ("dim_names".to_owned(), json!(names))));
        mark(field, FIXED_SHAPE_TENSOR, &Value::Object(metadata).to_string())
    }
}

/// Whether `field` holds booleans of one byte.
pub(crate) fn is_bool8(field: &Field) -> Result<bool, Error> {
    match (field.extension_type_name(), field.data_type()) {
        (Some(BOOL8), DataType::Int8) => Ok(true),
        (Some(BOOL8), _) => Err(Error::InvalidMetadata { name: BOOL8, problem: "the storage type is not Int8" }),
        _ => Ok(false),
    }
}

/// The name of the field's extension type, if it is one that this adapter does not know.
pub(crate) fn unknown(field: &Field) -> Option<&str> {
    field.extension_type_name().filter(|name| ![BOOL8, FIXED_SHAPE_TENSOR].contains(name))
}

/// `field` with the extension type for booleans of one byte.
pub(crate) fn mark_bool8(field: Field) -> Field {
    mark(field, BOOL8, "")
}

fn mark(mut field: Field, name: &str, metadata: &str) -> Field {
    let known = field.metadata_mut();
    known.insert(EXTENSION_TYPE_NAME_KEY.to_owned(), name.to_owned());
    known.insert(EXTENSION_TYPE_METADATA_KEY.to_owned(), metadata.to_owned());
    field
}

fn invalid(problem: &'static str) -> Error {
    Error::InvalidMetadata { name: FIXED_SHAPE_TENSOR, problem }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn of(metadata: &str, size: usize) -> Result<FixedShape, Error> {
        FixedShape::parse(metadata)?.checked(size)
    }

    #[test]
    fn both_spellings_of_the_permutation_are_read() {
        for key in ["permutation", "permutations"] {
            let shape = of(&format!(r#"{{"shape":[100,200,500],"{key}":[2,0,1]}}"#), 10_000_000).unwrap();
            assert_eq!(shape.order(), [2, 0, 1]);
        }
        let shape = of(r#"{"shape":[2,3],"dim_names":["H","W"],"permutation":[1,0]}"#, 6).unwrap();
        assert_eq!(shape.logical_names().unwrap(), ["W", "H"]);
        let lists = |size| DataType::FixedSizeList(Arc::new(Field::new_list_field(DataType::Int8, false)), size);
        let field = shape.mark(Field::new("x", lists(6), false));
        assert_eq!(FixedShape::of(&field).unwrap(), Some(shape.clone()));
        assert_eq!(FixedShape::of(&Field::new("x", lists(6), false)), Ok(None));
        for other in [lists(5), lists(-1), DataType::Int8] {
            assert!(matches!(
                FixedShape::of(&shape.mark(Field::new("x", other, false))),
                Err(Error::InvalidMetadata { .. })
            ));
        }
        let named = shape.with_logical_names(&["x", "y"]).unwrap();
        assert_eq!(named.dim_names.as_ref().unwrap(), &["y", "x"]);
        assert_eq!(named.logical_names().unwrap(), ["x", "y"]);
        assert!(named.with_logical_names(&["x"]).is_err());
    }

    #[test]
    fn contradictions_are_errors() {
        for (metadata, size) in [
            ("", 6),
            ("[]", 6),
            ("{}", 6),
            (r#"{"shape":6}"#, 6),
            (r#"{"shape":[2,4]}"#, 6),
            (r#"{"shape":[-2,-3]}"#, 6),
            (r#"{"shape":[2.5]}"#, 6),
            (r#"{"shape":[4294967296,4294967296]}"#, 0),
            (r#"{"shape":[2,3],"permutation":[0]}"#, 6),
            (r#"{"shape":[2,3],"permutation":[0,0]}"#, 6),
            (r#"{"shape":[2,3],"permutation":[0,2]}"#, 6),
            (r#"{"shape":[2,3],"permutation":"01"}"#, 6),
            (r#"{"shape":[2,3],"dim_names":["H"]}"#, 6),
            (r#"{"shape":[2,3],"dim_names":[1,2]}"#, 6),
        ] {
            assert!(matches!(of(metadata, size), Err(Error::InvalidMetadata { .. })), "{metadata}");
        }
    }
}
