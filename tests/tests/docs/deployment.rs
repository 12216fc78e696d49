//! The Dockerfile, `compose.yaml` and the examples of a deployment match the repository: what is copied exists, what is
//! built is what `scripts/build.sh` builds, settings have their names, and no secret has a default.

use std::collections::BTreeSet;

use super::{files, read, root};

/// A variable of `compose.yaml` alone.
const PUBLISHED_PORT: &str = "GAILOU_PORT";

/// The instructions of the Dockerfile, each on one line, without comments.
fn instructions() -> Vec<String> {
    let text = read("Dockerfile");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let joined: String = lines.map(|line| line.strip_suffix('\\').map_or(format!("{line}\n"), str::to_owned)).collect();
    joined.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// What the image takes from the repository.
fn copied() -> Vec<String> {
    let instructions = instructions();
    let copies = instructions.iter().filter_map(|line| line.strip_prefix("COPY "));
    let from_here = copies.filter(|copy| !copy.starts_with("--from="));
    let sources = from_here.flat_map(|copy| {
        let words: Vec<_> = copy.split(' ').map(str::to_owned).collect();
        words[..words.len() - 1].to_vec()
    });
    sources.collect()
}

#[test]
fn what_the_image_copies_exists_and_is_sent_to_the_build() {
    let sent: Vec<String> =
        read(".dockerignore").lines().filter_map(|line| Some(line.strip_prefix('!')?.to_owned())).collect();
    let copied = copied();
    assert!(copied.len() > 8, "{copied:?}");
    for source in &copied {
        assert!(root().join(source).exists(), "the Dockerfile copies {source}, which does not exist");
        let is_sent = sent.iter().any(|sent| source == sent || source.starts_with(&format!("{sent}/")));
        assert!(is_sent, ".dockerignore keeps {source} from the build of the image");
    }
    // Cargo reads the manifest of every member.
    let manifest = read("Cargo.toml");
    let members = manifest.split_once("\nmembers = [").and_then(|(_, rest)| rest.split_once(']')).expect("members").0;
    for member in members.split(',').map(|member| member.trim().trim_matches('"')) {
        assert!(copied.iter().any(|source| source == member), "the Dockerfile does not copy the member {member}");
    }
    // What the origin is compiled from, beside its own folder.
    for name in files(".rs").iter().filter(|name| name.starts_with("origin/src/")) {
        for included in read(name).split("include_str!(\"../../../../").skip(1) {
            let folder = included.split('/').next().expect("a folder");
            assert!(copied.iter().any(|source| source == folder), "{name} includes a file of {folder}");
        }
    }
}

#[test]
fn image_is_built_as_the_scripts_build() {
    let built = instructions().join("\n");
    let (script, functions) = (read("scripts/build.sh"), read("scripts/lib.sh"));
    let (_, arguments) = script.split_once("build_origin ").expect("scripts/build.sh builds the origin");
    let (profile, features) = arguments.split(" &&").next().and_then(|it| it.split_once(' ')).expect("a profile");
    let command = functions.split("cargo build ").nth(1).and_then(|rest| rest.lines().next()).expect("a command");
    let command = command.replace("\"$1\"", profile).replace("\"${@:2}\"", features);
    assert!(built.contains(&format!("cargo build {command}")), "the Dockerfile does not run: cargo build {command}");
    let setup = read("scripts/setup.sh");
    for (command, script) in
        [("npm run --silent build", &functions), ("npm ci --ignore-scripts --no-audit --no-fund", &setup)]
    {
        assert!(built.contains(command) && script.contains(command), "{command}");
    }
}

/// The names of variables that begin with `GAILOU_`.
fn variables(text: &str) -> BTreeSet<String> {
    let is_name = |c: &char| c.is_ascii_uppercase() || c.is_ascii_digit() || *c == '_';
    let names = text.split("GAILOU_").skip(1).map(|rest| rest.chars().take_while(is_name).collect::<String>());
    names.map(|name| format!("GAILOU_{name}")).collect()
}

#[test]
fn variables_of_a_deployment_are_settings() {
    let known = variables(&read("docs/configuration.md"));
    let examples = files("").into_iter().filter(|name| name.starts_with("examples/deploy/"));
    for name in examples.chain(["Dockerfile".into(), "compose.yaml".into()]) {
        let mut used = variables(&read(&name));
        used.remove(PUBLISHED_PORT);
        let unknown: Vec<_> = used.difference(&known).collect();
        assert!(unknown.is_empty(), "{name}: {unknown:?}");
    }
}

#[test]
fn no_secret_of_compose_has_a_default() {
    let text = read("compose.yaml");
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let mut secrets = 0;
    for line in lines {
        for variable in line.split("${").skip(1).filter_map(|rest| Some(rest.split_once('}')?.0)) {
            let (name, default) = variable.split_once(":-").unwrap_or((variable, ""));
            if name.contains("PASSWORD") || name.contains("SECRET") {
                assert_eq!(default, "", "{name} has a default");
                secrets += 1;
            }
        }
        if let Some((name, value)) = line.trim().split_once(": ")
            && (name.contains("PASSWORD") || name.contains("SECRET"))
        {
            assert!(value.starts_with("${") || name == "MYSQL_RANDOM_ROOT_PASSWORD", "{name} is in the file");
        }
    }
    assert!(secrets >= 3, "{secrets}");
}
