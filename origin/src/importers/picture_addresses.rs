//! Which pictures a text of another system shows.
//!
//! Reads the text as it is there: in what is made of it here, a picture is a link.

use std::sync::Arc;

use htmd::element_handler::{HandlerResult, Handlers};
use htmd::{Element, HtmlToMarkdown};
use parking_lot::Mutex;

use crate::domain::markdown_pictures;
use crate::importers::{Content, pictures};

/// The addresses of its pictures, in their order, as they stand in the links that are made of them.
pub(super) fn addresses(content: &Content) -> Vec<String> {
    let addresses = match content {
        Content::Markdown(text) => markdown_pictures::image_addresses(text),
        Content::Html(html) => addresses_in_html(html),
    };
    addresses.iter().map(|address| pictures::link_address(address)).collect()
}

fn addresses_in_html(html: &str) -> Vec<String> {
    let found = Arc::new(Mutex::new(Vec::new()));
    let into = found.clone();
    let remember = move |_: &dyn Handlers, element: Element| -> Option<HandlerResult> {
        let address = element.attrs.iter().find(|attribute| &*attribute.name.local == "src")?.value.to_string();
        if markdown_pictures::is_web(&address) {
            into.lock().push(address);
        }
        None
    };
    // Text that is no HTML has no pictures.
    let _ = HtmlToMarkdown::builder().add_handler(vec!["img"], remember).build().convert(html);
    std::mem::take(&mut *found.lock())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_found_in_both_kinds_of_texts() {
        let html = "<p>a <img src='https://e.example/a_(1).png?x=1&amp;y=2' alt='[x]'></p><a href='https://e.example/b'>b</a>\
                    <img src='/c.png'><img src='data:image/png;base64,x'><blockquote><IMG SRC='HTTP://e.example/d.png'></blockquote>";
        let expected = ["https://e.example/a_%281%29.png?x=1&y=2", "HTTP://e.example/d.png"];
        assert_eq!(addresses(&Content::Html(html.into())), expected);
        let markdown = "![a](https://e.example/a.png) [b](https://e.example/b.png) `![c](https://e.example/c.png)`\n\n\
                        > [![d](https://e.example/d.png \"title\")](https://e.example/d)\n\n![e](/e.png) ![f][1]\n\n\
                        [1]: <https://e.example/f.png>";
        let expected = ["https://e.example/a.png", "https://e.example/d.png", "https://e.example/f.png"];
        assert_eq!(addresses(&Content::Markdown(markdown.into())), expected);
    }
}
