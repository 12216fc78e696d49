//! Exports of other comment systems, read as the lines that an import takes ([`ImportLine`]).
//!
//! One file a system. Each reads its file twice, as a stream: first which comments there are, 8 bytes each, then the comments,
//! one at a time. Promise: nothing is left out silently. A comment that was not public there is counted, and what answered
//! it answers what that had answered; one that cannot be read is named.

mod artalk;
mod comentario;
mod commento;
mod discourse;
mod discussions;
mod disqus;
mod isso;
mod json;
mod pages;
mod picture_addresses;
mod pictures;
mod remark42;
mod source;
mod text;
mod twikoo;
mod waline;
mod wordpress;
mod xml;

#[cfg(test)]
mod tests;

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ValueEnum;
use gailou_shared::id::{MemberId, SubjectKey};
use gailou_shared::wire::Author;
use url::Url;

use crate::domain::avatar::AvatarHash;
use crate::domain::email_address::EmailAddress;
use crate::domain::import_line::{ImportLine, MAX_SUBJECT_TEXT_CHARS, SubjectDescription};
use crate::importers::pages::PageMap;
use crate::importers::pictures::PictureInLink;
use crate::importers::source::ExportSource;
pub(crate) use crate::importers::source::ReadProgress;
pub(crate) use crate::importers::text::markdown as markdown_of_html;

/// A system whose exports are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lower")]
pub(crate) enum System {
    /// The XML file that Disqus mails
    Disqus,
    /// The XML file of Tools → Export (WXR)
    Wordpress,
    /// A backup of remark42, unpacked
    Remark42,
    /// Artrans, the JSON file of Artalk
    Artalk,
    /// The JSON file of Waline's export, or of its hosted database, also for Valine
    Waline,
    /// The database of Isso, or the JSON file of its generic importer
    Isso,
    /// The JSON file of Twikoo's export
    Twikoo,
    /// The JSON file of Commento or Comentario
    Commento,
    /// Discussions of GitHub, as its GraphQL interface answers; giscus keeps comments there
    Discussions,
    /// Topics of Discourse, as it answers `/t/ID.json?print=true`
    Discourse,
}

impl System {
    /// Its name on the command line. Ids of what was imported have it, so it stays.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Disqus => "disqus",
            Self::Wordpress => "wordpress",
            Self::Remark42 => "remark42",
            Self::Artalk => "artalk",
            Self::Waline => "waline",
            Self::Isso => "isso",
            Self::Twikoo => "twikoo",
            Self::Commento => "commento",
            Self::Discussions => "discussions",
            Self::Discourse => "discourse",
        }
    }
}

/// Why a comment of an export is not imported, although nothing is wrong with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LeftOut {
    /// It waits there for its approval.
    NotApproved,
    Spam,
    /// Another site's mention of the page, and no comment.
    Pingback,
    /// It was thrown away there.
    Deleted,
    /// What the page itself says, as the first post of its topic.
    Page,
    /// Moderators alone read it there.
    Private,
    /// The system's own line about what a moderator did.
    Notice,
}

impl LeftOut {
    /// What it is called in a report.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::NotApproved => "not approved",
            Self::Spam => "spam",
            Self::Pingback => "pingbacks",
            Self::Deleted => "deleted",
            Self::Page => "pages as posts",
            Self::Private => "for moderators alone",
            Self::Notice => "notices",
        }
    }
}

/// A comment of another system.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct ForeignComment {
    /// The address of its page, whole or from the root of its site.
    page: String,
    /// What its page is called; empty where the system does not say.
    title: String,
    /// Whether `page` is made from the title, and leads nowhere.
    has_no_address: bool,
    id: String,
    parent: Option<String>,
    /// The root of its thread, where the system says so; used where the parent is not there.
    root: Option<String>,
    name: String,
    /// What is its author's alone, also among people of one name: an e-mail address, or the system's own id. It is hashed, and
    /// not kept.
    author_key: Option<String>,
    /// Of an e-mail address that the export itself does not have.
    avatar_hash: Option<String>,
    content: Content,
    /// Unix milliseconds.
    created_at: u64,
    edited_at: Option<u64>,
    likes: u64,
    dislikes: u64,
    deleted: bool,
    pinned: bool,
    held: bool,
}

/// A text of another system.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Content {
    Markdown(String),
    Html(String),
}

impl Default for Content {
    fn default() -> Self {
        Self::Markdown(String::new())
    }
}

/// What takes the comments of an export. An error ends the reading.
pub(crate) trait ExportReader {
    /// A line for the import, of a page with this address.
    ///
    /// # Errors
    /// When it takes no more.
    fn line(&mut self, page: &str, line: &ImportLine) -> anyhow::Result<()>;
    /// What is known of the subject of the lines that follow.
    ///
    /// # Errors
    /// When it takes no more.
    fn subject(&mut self, description: &SubjectDescription) -> anyhow::Result<()>;
    /// A comment that cannot be read: which one, and why.
    ///
    /// # Errors
    /// When it takes no more.
    fn bad(&mut self, what: &str, reason: &str) -> anyhow::Result<()>;
}

/// How much an export has.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct ExportReport {
    pub(crate) comments: u64,
    pub(crate) left_out: BTreeMap<LeftOut, u64>,
    pub(crate) bad: u64,
}

/// An export, and how it is read.
#[derive(Debug)]
pub(crate) struct Export {
    pub(crate) system: System,
    source: ExportSource,
    pages: PageMap,
    /// Of pages that are exported as paths.
    site: Option<Url>,
    /// Before the hash of an e-mail address, in the address of a picture; `None` where pictures by hash are not configured.
    pub(crate) avatars: Option<String>,
    /// Whether comments that wait for approval are taken, to wait here, too.
    pub(crate) takes_held: bool,
    /// Whether lines name the pictures of their comments, and those in links are in their texts.
    pub(crate) names_pictures: bool,
}

impl Export {
    /// The export in a file. Of pages see [`PageMap::new`].
    ///
    /// # Errors
    /// Those of [`PageMap::new`].
    pub(crate) fn new(
        system: System,
        file: PathBuf,
        kind: &str,
        site: Option<&str>,
        rules: &str,
    ) -> anyhow::Result<Self> {
        let pages = PageMap::new(kind, site, rules)?;
        let parse_site = |site: &str| {
            let address = if site.contains("://") { site.to_owned() } else { format!("https://{site}") };
            Url::parse(&address).ok()
        };
        let source = ExportSource::new(file, Arc::new(|_, _| {}));
        let site = site.and_then(parse_site);
        Ok(Self { system, source, pages, site, avatars: None, takes_held: false, names_pictures: false })
    }

    /// The same, in this file.
    pub(crate) fn in_file(self, file: PathBuf) -> Self {
        Self { source: ExportSource::new(file, Arc::new(|_, _| {})), ..self }
    }

    /// Where it lies.
    pub(crate) fn file(&self) -> &Path {
        self.source.path()
    }

    /// Says from now on how far each reading of the file is. A database says nothing.
    pub(crate) fn show_progress(&mut self, progress: Arc<ReadProgress>) {
        self.source = ExportSource::new(self.file().to_owned(), progress);
    }

    /// Reads it.
    ///
    /// # Errors
    /// When the file is no export of this system, when it is damaged, or when `reader` takes no more.
    pub(crate) fn read(&self, reader: &mut dyn ExportReader) -> anyhow::Result<ExportReport> {
        let mut found =
            Found { export: self, reader, comments: KnownComments::default(), described: HashMap::new(), report: None };
        read_file(self.system, &self.source, &mut found)?;
        found.report = Some(ExportReport::default());
        read_file(self.system, &self.source, &mut found)?;
        Ok(found.report.unwrap_or_default())
    }

    fn line(&self, comment: ForeignComment, subject: SubjectKey, parent: Option<String>) -> ImportLine {
        let (name, system) = (text::shown_name(&comment.name), self.system);
        let (id, hash) = match &comment.author_key {
            None => (MemberId::imported(&name), None),
            Some(key) => match EmailAddress::parse(&key.to_lowercase()) {
                // An address is of the same person in every system.
                Some(email) => (MemberId::imported(&format!("mail {email}")), Some(AvatarHash::of(&email))),
                None => (MemberId::imported(&format!("{} {key}", system.name())), None),
            },
        };
        let hash = hash.or_else(|| AvatarHash::parse(comment.avatar_hash.as_deref()?));
        let in_link = if self.names_pictures { PictureInLink::Picture } else { PictureInLink::Description };
        let avatar = self.avatars.as_ref().zip(hash).map(|(before, hash)| format!("{before}{hash}"));
        ImportLine {
            subject,
            id: id_of(system, &comment.id),
            root: None,
            parent: parent.map(|parent| id_of(system, &parent)),
            author: Author::new(id, name, avatar, 0, None),
            pictures: if self.names_pictures { picture_addresses::addresses(&comment.content) } else { Vec::new() },
            content: match comment.content {
                Content::Markdown(text) => pictures::as_links(text, in_link),
                Content::Html(html) => text::markdown_with(&html, in_link),
            },
            likes: comment.likes,
            dislikes: comment.dislikes,
            created_at: comment.created_at,
            edited_at: comment.edited_at,
            deleted: comment.deleted,
            pinned: comment.pinned,
            held: comment.held,
        }
    }
}

impl Export {
    /// What the page of a comment says of its subject.
    fn description(&self, comment: &ForeignComment, subject: &SubjectKey) -> SubjectDescription {
        let page = comment.page.trim();
        let url = match Url::parse(page) {
            Ok(_) => Some(page.to_owned()),
            Err(_) if comment.has_no_address => None,
            Err(_) => self.site.as_ref().and_then(|site| site.join(page).ok()).map(String::from),
        };
        let url = url.filter(|url| url.starts_with("http") && url.chars().count() <= MAX_SUBJECT_TEXT_CHARS);
        SubjectDescription { subject: subject.clone(), title: text::title(&comment.title), url }
    }
}

fn read_file(system: System, file: &ExportSource, found: &mut Found<'_>) -> anyhow::Result<()> {
    match system {
        System::Disqus => disqus::read(file, found),
        System::Wordpress => wordpress::read(file, found),
        System::Remark42 => remark42::read(file, found),
        System::Artalk => artalk::read(file, found),
        System::Waline => waline::read(file, found),
        System::Isso => isso::read(file, found),
        System::Twikoo => twikoo::read(file, found),
        System::Commento => commento::read(file, found),
        System::Discussions => discussions::read(file, found),
        System::Discourse => discourse::read(file, found),
    }
}

/// The comments of a file, as they are known after it was read once.
#[derive(Debug, Default)]
struct KnownComments {
    hasher: RandomState,
    /// By subject and id.
    public: HashSet<u64>,
    /// Those that are left out, with what they answer.
    left_out: HashMap<String, Option<String>>,
}

impl KnownComments {
    /// The comment of this subject that is imported as the parent of one that answered `parent`: it, or the first public one
    /// above it.
    fn parent(&self, subject: &SubjectKey, parent: Option<&String>, root: Option<&String>) -> Option<String> {
        let is_public = |id: &String| self.public.contains(&self.hasher.hash_one((subject, id)));
        let mut above = parent;
        // A chain of comments that are left out is no longer than they are many.
        for _ in 0..=self.left_out.len() {
            match above {
                Some(id) if is_public(id) => return Some(id.clone()),
                Some(id) => above = self.left_out.get(id).and_then(Option::as_ref),
                None => break,
            }
        }
        root.filter(|id| is_public(id)).cloned()
    }
}

/// Takes what a system's reader finds.
struct Found<'a> {
    export: &'a Export,
    reader: &'a mut dyn ExportReader,
    comments: KnownComments,
    /// The subjects that are described so far, each with whether by its title.
    described: HashMap<u64, bool>,
    /// Of the second reading; `None` during the first.
    report: Option<ExportReport>,
}

impl Found<'_> {
    /// A comment that was public, or why it cannot be read; `what` names it.
    fn comment_or_bad(&mut self, what: &str, comment: Result<ForeignComment, String>) -> anyhow::Result<()> {
        match comment {
            Ok(comment) => self.comment(comment),
            Err(reason) => self.bad(what, &reason),
        }
    }

    /// A comment that was public.
    fn comment(&mut self, comment: ForeignComment) -> anyhow::Result<()> {
        let what = format!("comment {:?}", comment.id);
        let subject = match self.export.pages.subject(&comment.page) {
            Ok(subject) => subject,
            Err(reason) => return self.bad(&what, &reason),
        };
        let Some(report) = &mut self.report else {
            self.comments.public.insert(self.comments.hasher.hash_one((&subject, &comment.id)));
            return Ok(());
        };
        let parent = self.comments.parent(&subject, comment.parent.as_ref(), comment.root.as_ref());
        let description = self.export.description(&comment, &subject);
        let (page, line) = (comment.page.clone(), self.export.line(comment, subject, parent));
        // What the import would refuse is named by its id in the export, and not by the number of a line that is in no file.
        match ImportLine::parse(line.to_json().as_bytes()) {
            Ok(line) => {
                report.comments += 1;
                self.describe(&description)?;
                self.reader.line(&page, &line)
            }
            Err(reason) => self.bad(&what, &reason),
        }
    }

    /// Hands out what is known of a subject, once, and once more where its title is known later.
    fn describe(&mut self, description: &SubjectDescription) -> anyhow::Result<()> {
        let has_title = description.title.is_some();
        let known = self.described.entry(self.comments.hasher.hash_one(&description.subject));
        let is_new = match known {
            Entry::Vacant(vacant) if has_title || description.url.is_some() => {
                vacant.insert(has_title);
                true
            }
            Entry::Vacant(_) => false,
            Entry::Occupied(mut known) => has_title && !known.insert(true),
        };
        if is_new { self.reader.subject(description) } else { Ok(()) }
    }

    /// A comment that waits for its approval, and what it answers. What answers it answers that, too.
    fn waiting(
        &mut self,
        id: String,
        parent: Option<String>,
        comment: impl FnOnce() -> Result<ForeignComment, String>,
    ) -> anyhow::Result<()> {
        if !self.export.takes_held || self.report.is_none() {
            self.left_out(LeftOut::NotApproved, id, parent);
            return Ok(());
        }
        let comment = comment().map(|comment| ForeignComment { held: true, ..comment });
        self.comment_or_bad(&format!("comment {id:?}"), comment)
    }

    /// A comment that is not imported, and what it answers.
    fn left_out(&mut self, why: LeftOut, id: String, parent: Option<String>) {
        match &mut self.report {
            Some(report) => *report.left_out.entry(why).or_default() += 1,
            None => _ = self.comments.left_out.insert(id, parent),
        }
    }

    fn bad(&mut self, what: &str, reason: &str) -> anyhow::Result<()> {
        let Some(report) = &mut self.report else { return Ok(()) };
        report.bad += 1;
        self.reader.bad(what, reason)
    }
}

/// An id of a system, so that those of another one on the same page are other comments.
fn id_of(system: System, id: &str) -> String {
    if id.is_empty() { String::new() } else { format!("{} {id}", system.name()) }
}
