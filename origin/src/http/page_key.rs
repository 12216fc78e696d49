//! Names of pages in the cache: of a request what counts, in one order, defaults left out.
//!
//! The edge uses the same names, and the hot path compares a request's own path and query with them.

/// The key of a path with these parameters; a parameter without a value is left out.
pub(super) fn page_key(path: &str, parameters: &[(&str, Option<String>)]) -> String {
    let mut key = path.to_owned();
    for (i, (name, value)) in parameters.iter().filter_map(|(n, v)| v.as_ref().map(|v| (n, v))).enumerate() {
        key.push(if i == 0 { '?' } else { '&' });
        key.push_str(name);
        key.push('=');
        key.push_str(value);
    }
    key
}

/// The value of a parameter, unless it is the default.
pub(super) fn unless_default(value: usize, default: usize) -> Option<String> {
    (value != default).then(|| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_parameters_are_left_out() {
        let check = |parameters: &[(&str, Option<&str>)], expected: &str| {
            let parameters: Vec<_> = parameters.iter().map(|(n, v)| (*n, v.map(str::to_owned))).collect();
            assert_eq!(page_key("/p", &parameters), expected);
        };
        check(&[], "/p");
        check(&[("sort", None), ("limit", None)], "/p");
        check(&[("sort", None), ("limit", Some("5"))], "/p?limit=5");
        check(&[("sort", Some("new")), ("limit", None), ("cursor", Some("c"))], "/p?sort=new&cursor=c");
    }

    #[test]
    fn defaults_have_no_value() {
        assert_eq!(unless_default(20, 20), None);
        assert_eq!(unless_default(5, 20).as_deref(), Some("5"));
    }
}
