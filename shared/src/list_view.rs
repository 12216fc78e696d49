//! How much of each comment a list has: the parameter `view`. What a compact list leaves out is decided in
//! [`crate::wire::compact`].

use alloc::borrow::ToOwned;
use alloc::string::String;

use strum::{EnumString, IntoStaticStr, VariantArray};

/// The name of the parameter.
pub const VIEW_PARAMETER: &str = "view";

/// A view of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum ListView {
    /// Whole comments.
    #[default]
    Full,
    /// What a page draws of them.
    Compact,
}

impl ListView {
    /// All views.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// The view's name in the contract.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The view with this name.
    ///
    /// ```
    /// use gailou_shared::list_view::ListView;
    /// assert_eq!(ListView::parse("compact"), Some(ListView::Compact));
    /// assert_eq!(ListView::parse("COMPACT"), None);
    /// ```
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        name.parse().ok()
    }

    /// The parameter in the key of a page; without a value where it is the default.
    #[must_use]
    pub fn key_parameter(self) -> (&'static str, Option<String>) {
        (VIEW_PARAMETER, (self != Self::default()).then(|| self.name().to_owned()))
    }
}
