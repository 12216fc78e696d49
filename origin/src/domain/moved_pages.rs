//! Pages that have moved: addresses whose comments are those of another subject, under which they were begun.
//!
//! Pure. A comment's id has the slot of its subject, so comments stay where they are, and another key leads to them.

use std::collections::HashMap;

use gailou_shared::id::SubjectKey;

/// At the end of both names of a rule: whatever follows.
const REST_MARK: char = '*';

/// From the subjects of new addresses to those that have their comments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MovedPages {
    pages: HashMap<SubjectKey, SubjectKey>,
    /// In their order: the beginning of the new key and of the former one, of a type.
    sections: Vec<(String, String, String)>,
}

impl MovedPages {
    /// Adds a rule: the former name and the new one, `type/key` each; with `*` at the end of both, all that begin so.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn add(&mut self, from: &str, to: &str) -> Result<(), &'static str> {
        let sections = (from.strip_suffix(REST_MARK), to.strip_suffix(REST_MARK));
        let is_section = match sections {
            (Some(_), Some(_)) => true,
            (None, None) => false,
            _ => return Err("must both end with * or neither"),
        };
        let parse = |name: &str| name.split_once('/').and_then(|(kind, key)| SubjectKey::new(kind, key).ok());
        let (from, to) = match (parse(from), parse(to)) {
            (Some(from), Some(to)) => (from, to),
            _ => return Err("must be subjects: type/key"),
        };
        if from == to || from.kind() != to.kind() {
            return Err("must be two subjects of one type");
        }
        if is_section {
            let beginning = |key: &SubjectKey| key.key().trim_end_matches(REST_MARK).to_owned();
            self.sections.push((to.kind().to_owned(), beginning(&to), beginning(&from)));
        } else {
            self.pages.insert(to, from);
        }
        Ok(())
    }

    /// The subject that has the comments of this one: itself, unless it is the new address of another.
    #[must_use]
    pub fn resolve(&self, subject: SubjectKey) -> SubjectKey {
        if let Some(from) = self.pages.get(&subject) {
            return from.clone();
        }
        let former = self.sections.iter().find_map(|(kind, to, from)| {
            let rest = subject.key().strip_prefix(to.as_str()).filter(|_| kind == subject.kind())?;
            SubjectKey::new(kind, &format!("{from}{rest}")).ok()
        });
        former.unwrap_or(subject)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(moved: &MovedPages, name: &str) -> String {
        let (kind, key) = name.split_once('/').unwrap();
        let subject = moved.resolve(SubjectKey::new(kind, key).unwrap());
        format!("{}/{}", subject.kind(), subject.key())
    }

    #[test]
    fn new_address_leads_to_the_former_subject() {
        let mut moved = MovedPages::default();
        moved.add("article/old", "article/new").unwrap();
        moved.add("article/a.example/*", "article/b.example/blog/*").unwrap();
        for (name, expected) in [
            ("article/new", "article/old"),
            ("article/old", "article/old"),
            ("article/b.example/blog/2020/x", "article/a.example/2020/x"),
            ("article/b.example/2020/x", "article/b.example/2020/x"),
            ("video/new", "video/new"),
            ("video/b.example/blog/x", "video/b.example/blog/x"),
        ] {
            assert_eq!(resolved(&moved, name), expected, "{name}");
        }
    }

    #[test]
    fn rule_that_leads_nowhere_is_refused() {
        for (from, to) in [
            ("article/a", "article/a"),
            ("article/a", "video/a"),
            ("article/a*", "article/b"),
            ("article/a", "article/b*"),
            ("a", "article/b"),
            ("article/", "article/b"),
        ] {
            assert!(MovedPages::default().add(from, to).is_err(), "{from} {to}");
        }
    }
}
