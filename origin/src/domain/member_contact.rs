//! How a member is reached: an address, how often mail is wanted, and its language.
//!
//! Pure data, in the member's slot. Not here: what is sent, or when.

use gailou_shared::wire::NotifyChoice;

use crate::domain::email_address::EmailAddress;

/// How a member is reached; nothing by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemberContact {
    pub email: Option<EmailAddress>,
    /// What the member has chosen; [`MemberContact::notify`] is what counts.
    pub chosen: Option<NotifyChoice>,
    /// A language tag that the member has chosen, such as `zh-CN`.
    pub language: Option<String>,
}

impl MemberContact {
    /// How often mail is wanted: after each event where there is an address and no choice.
    pub fn notify(&self) -> NotifyChoice {
        let default = if self.email.is_some() { NotifyChoice::Each } else { NotifyChoice::Never };
        self.chosen.unwrap_or(default)
    }
}

/// New values of a contact; `None` leaves one as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContactPatch {
    pub email: Option<EmailAddress>,
    pub notify: Option<NotifyChoice>,
    /// `Some(None)` for no choice of a language.
    pub language: Option<Option<String>>,
}

impl ContactPatch {
    /// Changes a contact.
    pub fn apply(&self, contact: &mut MemberContact) {
        if let Some(email) = &self.email {
            contact.email = Some(email.clone());
        }
        if let Some(notify) = self.notify {
            contact.chosen = Some(notify);
        }
        if let Some(language) = &self.language {
            contact.language.clone_from(language);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_an_address_and_has_chosen_nothing_is_notified_of_each_event() {
        let mut contact = MemberContact::default();
        assert_eq!(contact.notify(), NotifyChoice::Never);
        ContactPatch { email: EmailAddress::parse("ann@example.com"), ..ContactPatch::default() }.apply(&mut contact);
        assert_eq!(contact.notify(), NotifyChoice::Each);
        ContactPatch { notify: Some(NotifyChoice::Daily), ..ContactPatch::default() }.apply(&mut contact);
        assert_eq!((contact.notify(), contact.email.is_some()), (NotifyChoice::Daily, true));
        let language = |language: Option<&str>| ContactPatch {
            language: Some(language.map(str::to_owned)),
            ..ContactPatch::default()
        };
        language(Some("zh")).apply(&mut contact);
        ContactPatch::default().apply(&mut contact);
        assert_eq!(contact.language.as_deref(), Some("zh"));
        language(None).apply(&mut contact);
        assert_eq!((contact.language.clone(), contact.notify()), (None, NotifyChoice::Daily));
    }
}
