//! The Dockerfile, `compose.yaml` and the examples of a deployment match the repository: what is copied exists, what is
//! built is what `scripts/build.sh` builds, settings and commands have their names, backups go where the documents say,
//! and no secret has a default.

use std::collections::BTreeSet;

use gailou_tests::{gailou_command, run_command};

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

/// The instructions of each stage of the Dockerfile, its `FROM` first.
fn stages() -> Vec<Vec<String>> {
    let mut stages: Vec<Vec<String>> = Vec::new();
    for line in instructions().into_iter().filter(|line| !line.is_empty()) {
        match stages.last_mut() {
            Some(stage) if !line.starts_with("FROM ") => stage.push(line),
            _ => stages.push(vec![line]),
        }
    }
    stages
}

/// What follows this word in the last stage, which is the image.
fn of_image(word: &str) -> String {
    let image = stages().pop().expect("a stage");
    let found: Vec<_> = image.iter().filter_map(|line| line.strip_prefix(word)?.strip_prefix(' ')).collect();
    assert_eq!(found.len(), 1, "one {word} in the image: {image:?}");
    found[0].to_owned()
}

/// The words of a list in brackets, each in quotes or not.
fn list(text: &str) -> Vec<&str> {
    let inside = text.trim().strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let inside = inside.unwrap_or_else(|| panic!("{text} is a list in brackets"));
    inside.split(',').map(|word| word.trim().trim_matches('"')).collect()
}

/// Checks that the program has this command.
async fn check_command(command: &str, place: &str) {
    let output = run_command(gailou_command([command, "--help"])).await;
    let usage = format!("Usage: gailou {command}");
    assert!(output.code == Some(0) && output.stdout.contains(&usage), "{place}: {command}: {}", output.stderr);
}

#[tokio::test]
async fn image_checks_its_health_and_is_no_administrator_of_its_machine() {
    let (health, program) = (of_image("HEALTHCHECK"), of_image("ENTRYPOINT"));
    let (_, check) = health.split_once("CMD ").expect("a command");
    let [checker, command] = list(check)[..] else { panic!("a program and a command: {check}") };
    assert_eq!(list(&program), [checker], "there is no other program in the image");
    check_command(command, "HEALTHCHECK").await;
    let user = of_image("USER");
    let numbers: Vec<u32> = user.split(':').map(|number| number.parse().expect("a number, for Kubernetes")).collect();
    assert!(numbers.len() == 2 && numbers.iter().all(|number| *number > 0), "{user}");
    let data = of_image("VOLUME");
    assert!(of_image("ENV").contains(&format!("GAILOU_DATA={data}")));
    let image = stages().pop().expect("a stage");
    let folder = data.rsplit_once('/').expect("a path").0;
    let owned = format!("COPY --from=program --chown={user} /state {folder}");
    assert!(image.contains(&owned), "{data} belongs to the user: {image:?}");
}

#[test]
fn image_has_the_program_alone_and_what_builds_it_is_cached() {
    let stages = stages();
    let [page, program, image] = &stages[..] else { panic!("three stages: {stages:?}") };
    let begins = [page, program, image].map(|stage| &*stage[0]);
    assert!(begins[0].ends_with(" AS page") && begins[1].ends_with(" AS program"), "{begins:?}");
    assert_eq!(begins[2], "FROM scratch");
    assert!(!image.iter().any(|line| line.starts_with("RUN ")), "{image:?}");
    let copies: Vec<_> = image.iter().filter(|line| line.starts_with("COPY ")).collect();
    assert!(copies.iter().all(|copy| copy.starts_with("COPY --from=program ")), "nothing of a toolchain: {copies:?}");
    // What was fetched and compiled before is there at the next build, and is no part of a layer.
    let caches = |stage: &[String], command: &str| -> Vec<String> {
        let run = stage.iter().find(|line| line.starts_with("RUN ") && line.contains(command));
        let run = run.unwrap_or_else(|| panic!("no RUN of {command}: {stage:?}"));
        let mounts = run.split("--mount=type=cache,").skip(1).filter_map(|rest| rest.split(' ').next());
        mounts
            .flat_map(|mount| mount.split(',').filter_map(|part| part.strip_prefix("target=")).map(str::to_owned))
            .collect()
    };
    let fetched = caches(page, "npm ci");
    assert!(page.iter().any(|line| line.contains(&format!("--cache {}", fetched[0]))), "{fetched:?}");
    assert_eq!(caches(program, "cargo build"), ["/usr/local/cargo/registry", "/src/target"]);
    // The packages of npm are fetched again only when their list has changed.
    let place =
        |stage: &[String], part: &str| stage.iter().position(|line| line.contains(part)).expect("an instruction");
    assert!(
        place(page, "COPY package.json") < place(page, "npm ci")
            && place(page, "npm ci") < place(page, "COPY edge/web")
    );
}

/// The services of `compose.yaml`, each with its lines.
fn services() -> Vec<(String, Vec<String>)> {
    let text = read("compose.yaml");
    let (_, services) = text.split_once("\nservices:\n").expect("services");
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for line in services.lines().take_while(|line| line.is_empty() || line.starts_with(' ')) {
        let name =
            line.strip_prefix("  ").filter(|line| !line.starts_with([' ', '#'])).and_then(|l| l.strip_suffix(':'));
        match (name, found.last_mut()) {
            (Some(name), _) => found.push((name.to_owned(), Vec::new())),
            (None, Some((_, lines))) => lines.push(line.trim().to_owned()),
            (None, None) => {}
        }
    }
    found
}

#[tokio::test]
async fn services_and_documents_run_commands_that_the_program_has() {
    let own: Vec<_> =
        services().into_iter().filter(|(_, lines)| lines.iter().any(|line| line == "<<: *gailou")).collect();
    let names: Vec<&str> = own.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["gailou", "migrate", "serve", "job"]);
    for (name, lines) in &own {
        let command = lines.iter().find_map(|line| line.strip_prefix("command: "));
        match command {
            Some(command) => check_command(list(command)[0], name).await,
            None => assert_eq!(name, "gailou", "it runs everything, as the image does"),
        }
    }
    // What is typed into a container: the program's name, and its command.
    let mut typed = BTreeSet::new();
    let examples = files("").into_iter().filter(|name| name.starts_with("examples/deploy/") || name.ends_with(".md"));
    for name in examples.chain(["Dockerfile".into(), "compose.yaml".into()]) {
        let text = read(&name);
        for (service, _) in &own {
            for begin in [format!("exec {service} gailou "), format!("exec -T {service} gailou ")] {
                let commands = text.split(&begin).skip(1).map(|rest| rest.split([' ', '`', '\n', ',']).next());
                typed.extend(commands.flatten().map(|command| (command.trim_matches('.').to_owned(), name.clone())));
            }
        }
    }
    let commands: BTreeSet<&str> = typed.iter().map(|(command, _)| &**command).collect();
    assert!(commands.is_superset(&["admin", "backup", "doctor"].into()), "{typed:?}");
    for (command, name) in &typed {
        check_command(command, name).await;
    }
}

#[test]
fn backups_of_a_container_go_into_a_folder_of_the_host_that_its_user_owns() {
    let user = of_image("USER");
    let (number, group) = user.split_once(':').expect("a user and a group");
    let prepare = format!("install -d -m 700 -o {number} -g {group} /srv/gailou-backups");
    let (readme, operations) = (read("README.md"), read("docs/operations.md"));
    let unit = read("examples/deploy/gailou.service");
    for (name, text) in
        [("README.md", &readme), ("operations.md", &operations), ("compose.yaml", &read("compose.yaml"))]
    {
        assert!(text.contains(&prepare), "{name}: {prepare}");
    }
    let data = of_image("VOLUME");
    assert!(readme.contains(&format!("-v gailou:{data} \\\n     -v /srv/gailou-backups:/backups")));
    assert!(operations.contains(&format!("chown -R {number}:{group} /srv/gailou-backups/")));
    let restore =
        format!("docker run --rm -v gailou-restored:{data} -v /srv/gailou-backups:/backups gailou restore /backups/");
    assert!(operations.contains(&restore), "{restore}");
    for (name, lines) in services().iter().filter(|(name, _)| name == "gailou" || name == "serve") {
        let volumes = lines.iter().find_map(|line| line.strip_prefix("volumes: ")).expect("volumes");
        assert_eq!(list(volumes)[1], "${BACKUPS:-/srv/gailou-backups}:/backups", "{name}");
    }
    // Every documented backup has a path of its own, outside of the data: a second one into it is refused.
    for (name, text) in [("README.md", &readme), ("operations.md", &operations)] {
        let paths = text.split("gailou backup /").skip(1).map(|rest| rest.split([' ', '`', '\n', ')']).next());
        let paths: Vec<_> = paths.flatten().filter(|path| !path.starts_with("backups/2")).collect();
        let is_dated = |path: &&str| path.ends_with("/$(date") && !format!("/{path}").starts_with(&data);
        assert!(!paths.is_empty() && paths.iter().all(is_dated), "{name}: {paths:?}");
    }
    let writable = "ReadWritePaths=-/var/backups/gailou\n";
    assert!(unit.contains(writable) && operations.contains("backup /var/backups/gailou/$(date +%F-%H%M)"), "{unit}");
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
