//! The parameters of any scheme, scheduler or buffer: one enum from one list of names.

use alloc::string::String;

use tidegate_units::{ConfigError, Field};

/// Parameters made of other parameters. They have a name and fields, but no entry in the list.
pub(crate) trait Composite {
    const NAME: &'static str;
    const FIELDS: &'static [Field];

    fn set(&mut self, field: &str, text: &str) -> Result<(), ConfigError>;
    fn value(&self, field: &str) -> Option<String>;
}

/// Makes the enum of the parameters of all kinds of a thing, and the names by which they are known
/// in files and on the command line. Composites come first, each with its payload.
macro_rules! catalogue {
    (
        $(#[$doc:meta])*
        pub enum Config {
            $($(#[$composite_doc:meta])* $composite:ident($payload:ty);)*
            $($name:literal => $variant:ident($parameters:ty),)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Config {
            $($(#[$composite_doc])* $composite($payload),)*
            $(
                #[doc = concat!("`", $name, "`")]
                $variant($parameters),
            )*
        }

        impl Config {
            /// All names.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// The default parameters of what is called `name`, or `None` if nothing is.
            pub fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant(<$parameters>::default())),)*
                    _ => None,
                }
            }

            /// The name.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$composite(_) => <$payload as $crate::catalogue::Composite>::NAME,)*
                    $(Self::$variant(_) => $name,)*
                }
            }

            /// The fields that can be set.
            pub fn fields(&self) -> &'static [tidegate_units::Field] {
                match self {
                    $(Self::$composite(_) => <$payload as $crate::catalogue::Composite>::FIELDS,)*
                    $(Self::$variant(_) => <$parameters as tidegate_units::Settings>::FIELDS,)*
                }
            }

            /// Sets one field from text.
            pub fn set(
                &mut self,
                field: &str,
                text: &str,
            ) -> Result<(), tidegate_units::ConfigError> {
                match self {
                    $(Self::$composite(parts) => {
                        $crate::catalogue::Composite::set(parts, field, text)
                    })*
                    $(Self::$variant(config) => {
                        tidegate_units::Settings::set(config, field, text)
                    })*
                }
            }

            /// The text form of one field, or `None` if there is no such field.
            pub fn value(&self, field: &str) -> Option<alloc::string::String> {
                match self {
                    $(Self::$composite(parts) => $crate::catalogue::Composite::value(parts, field),)*
                    $(Self::$variant(config) => tidegate_units::Settings::value(config, field),)*
                }
            }
        }
    };
}
pub(crate) use catalogue;
