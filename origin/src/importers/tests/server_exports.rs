//! Exports that the programs themselves have made, with addresses and networks of documentation.

use super::check;
use crate::importers::{LeftOut, System};

/// Made by `@waline/vercel` 1.39.3 over SQLite, in UTC: written and liked through its interface, one of them while
/// `COMMENT_AUDIT` was set, and exported by its administrator as the dashboard does. The hash of the password is taken out.
#[test]
fn waline_over_sqlite() {
    check(
        System::Waline,
        "waline-server.json",
        r#"
blog.example/2020/hello 1 - Ann +2-0 1795940305000 pinned first **floor** 第一层楼 :smile: 🏯
blog.example/2020/hello 2 1 Bob +1-0 1795940306000 a reply with a picture [a cat](https://pictures.example/cat.png) and `![no](https://pictures.example/picture.png)` in code
blog.example/2020/hello 3 2 Cat +0-0 1795940307000 你好，`code`：||```js|const picture = "![a](https://pictures.example/a.png)";|```||> a quote
blog.example/2020/hello 4 3 Eve +0-0 1795940308000 an answer of the admin
blog.example/2020/hello 6 1 Bob +0-0 1795940310000 an answer to spam
blog.example/about.html 7 - Dan +0-0 1795940311000 another page [image](https://pictures.example/2020/house.jpg)
"#,
        &[(LeftOut::NotApproved, 1), (LeftOut::Spam, 1)],
    );
}

/// Made by `twikoo-func` 1.7.9, with a database in memory in the place of the cloud's: its own handlers wrote, liked, pinned
/// and exported, and the file is written as its panel does.
#[test]
fn twikoo_in_memory() {
    check(
        System::Twikoo,
        "twikoo-server.json",
        r#"
blog.example/2020/hello e1071c7b15938ef15d0262f5657e4881 - Ann +2-1 1795942106524 pinned first **floor** 第一层楼 🏯
blog.example/2020/hello 8b208da7ebf0ef9936f7f379a340b7e4 e1071c7b15938ef15d0262f5657e4881 Bob +0-0 1795942106611 a reply with a picture [a cat](https://pictures.example/cat.png) and one that is code: `![a](b)`
blog.example/2020/hello 2aec4e5b8c733841e6f9e3b4206bd2e1 8b208da7ebf0ef9936f7f379a340b7e4 匿名 +0-0 1795942106666 你好：||```js|const picture = "![a](b)";|```
blog.example/2020/hello 1b49b4cee68ed082546e963f93d3b094 2aec4e5b8c733841e6f9e3b4206bd2e1 Cat +0-0 1795942106720 under what answers a reply [:smile:](https://emotions.example/smile.png)
blog.example/2020/hello 87b353e3f25ca25a2a92071517d5f654 e1071c7b15938ef15d0262f5657e4881 Bob +0-0 1795942106825 an answer to spam
blog.example/about.html e0df96cfdfd4babc1ce87eec079cd968 - Dan +0-0 1795942106879 another page
"#,
        &[(LeftOut::Spam, 1)],
    );
}
