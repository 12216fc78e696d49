/** The shapes of the HTTP interface. Written by generate.mjs from the OpenAPI document; not by hand. */

export interface paths {
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the process is alive. */
        get: operations["get_health"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What an operator watches, for Prometheus. */
        get: operations["get_metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** This document. */
        get: operations["get_openapi"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether comments can be read. */
        get: operations["get_readiness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/t/{type}/{key}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A page of comments as HTML. */
        get: operations["get_html"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The audit log.
         * @description Only moderators may. The newest entry comes first.
         */
        get: operations["list_audit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/audit/{id}/undo": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Undo a decision.
         * @description Only moderators may, for a day, while nothing else has changed the comment. Undoing is itself in the audit log.
         */
        post: operations["undo"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/comments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Look for comments.
         * @description Only moderators may. All comments that fulfil every parameter, whatever their state, the newest first; each has a
         *     `highlight` where there is a `q`.
         */
        get: operations["search_comments"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/comments/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A comment in any state.
         * @description Only moderators may. Of an edit that is held the queue has the text; here is the one that readers see.
         */
        get: operations["read_comment"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/comments/{id}/block-network": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Block the network of a comment.
         * @description Only moderators may. For 30 days nothing is posted from it, and no guest is made; its address is shown to none. 404 where
         *     it is not known: of comments that are older than 30 days, imported, a moderator's or erased. It is in
         *     `rules.blocked.hashed_networks` of the settings, where an admin ends it.
         */
        post: operations["block_network"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/comments/{id}/decision": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Decide about a comment.
         * @description Only moderators may. Each decision is in the audit log, and can be undone for a day.
         */
        post: operations["decide"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/comments/{id}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The earlier texts of a comment.
         * @description Only moderators may. The first one comes first; texts are kept for as long as `retention.edit_history_days` says.
         */
        get: operations["list_history"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/comments/{id}/reports": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The reports of a comment.
         * @description Only moderators may. The newest comes first; at most 100 are answered.
         */
        get: operations["list_reports"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/decisions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Decide about several comments.
         * @description Only moderators may. Each comment has its own outcome, and its own entry in the audit log.
         */
        post: operations["decide_all"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Comments as JSON lines.
         * @description Only admins may. One line a comment, threads together and parents first, as `POST /v1/admin/import` and
         *     `gailou import` read them. The answer is streamed, and is complete when the connection ends as HTTP says.
         */
        get: operations["export_comments"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/import": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Import comments.
         * @description Only admins may. The body has one comment a line, or the title and the address of a subject, at most 64 MiB in all, as
         *     `gailou export` writes them and docs/importing.md describes; larger files are for `gailou import`. With `from`, the body
         *     is an export of another system. Nothing is filtered, and what is there already is
         *     skipped, so the same file can be sent again. The answer has lines of JSON: `{"line","reason"}` for a line that is not
         *     imported, or `{"item","reason"}` for a comment of an export, `{"left_out"}` with how many comments of an export are left
         *     out and why, `{"done","total"}` on the way, and last the report or `{"error"}`.
         */
        post: operations["import_comments"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/members": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Members.
         * @description Only moderators may. All by id; with `muted=1` those who are muted, by id; with `q` those whose names begin so, by
         *     name, after the member with this id. Each is on one page; a page may hold fewer than `limit`.
         */
        get: operations["list_members"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/members/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A member.
         * @description Only moderators may. With what the host's service says of them today, the counts of their comments, other names, and
         *     their newest comments. A member who has not written yet has an empty name; an erased member is `404`.
         */
        get: operations["get_member"];
        /**
         * Change what is said of a member.
         * @description Only moderators may; `role` only admins. A field that is left out stays as it is, `null` takes it back. Each call
         *     leaves an entry in the audit log, and is in force everywhere within 5 seconds.
         */
        put: operations["put_member"];
        post?: never;
        /**
         * Erase a member.
         * @description Only admins may. As `DELETE /v1/me`, with an entry in the audit log; what was said of the member goes too.
         */
        delete: operations["erase_member"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/queue": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What waits for a moderator.
         * @description Only moderators may. The most urgent comes first: reports × 10 + likes + 2 × replies + the author's level; among
         *     equals the one that waits longest. The list changes while it is read: begin again at the first page after a decision.
         */
        get: operations["get_queue"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/queue/lease": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Take comments of the queue.
         * @description Only moderators may. For 60 seconds no other moderator is given them; a repetition extends that.
         */
        post: operations["lease"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/rejected": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Refused texts.
         * @description Only moderators may. Texts of posts and edits that were answered `422 content_rejected` for a word, newest first, for
         *     30 days. A page may be short, even empty, while `has_more` is true.
         */
        get: operations["list_rejected"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/rejected/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Drop a refused text.
         * @description Only moderators may.
         */
        delete: operations["drop_rejected"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/rejected/{id}/accept": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Accept a refused text.
         * @description Only moderators may. It is published as its author's, or its edit applied, whatever the word filter says; twice is
         *     once. `404 not_found` when it is gone.
         */
        post: operations["accept_rejected"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/settings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The settings in force.
         * @description Only admins may.
         */
        get: operations["read_settings"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Change settings.
         * @description Only admins may. The body is a JSON merge patch (RFC 7396) of `settings`: what it has replaces, and `null` gives back
         *     what the configuration says. In force at every server within 5 seconds.
         */
        patch: operations["change_settings"];
        trace?: never;
    };
    "/v1/admin/stats": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The numbers of what people do.
         * @description Only moderators may. Counted in the transactions that write the rows, so a number is exact as soon as what it counts
         *     can be read; a cluster's is the sum over its databases, and `503` while one of them does not answer. Steps are those
         *     of UTC. At most 1,500 points: minutes are kept for 7 days, hours for 180 days, days for ever.
         */
        get: operations["read_stats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/subjects": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * All subjects.
         * @description Only moderators may. Those that have comments, or were registered, with `q` and `state` in an order that does not
         *     change; the subject that `q` names as `type/key` comes first. A page may hold fewer than `limit`, even none, while
         *     there are more.
         */
        get: operations["list_subjects"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/subjects/{type}/{key}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Register or change a subject.
         * @description Only moderators may, and `moved_to` only admins. Each change is in the audit log.
         */
        put: operations["put_subject"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * All webhooks.
         * @description Only admins may. Their secrets are not shown.
         */
        get: operations["list_webhooks"];
        put?: never;
        /**
         * Make a webhook.
         * @description Only admins may. From now on, these events are sent to the address, signed by `secret` as the Standard Webhooks say;
         *     the secret is in this answer and in no other. The address is public and begins with `https://`, unless
         *     `webhooks.allow_private` is on. `409 version_conflict` where there are 20 webhooks.
         */
        post: operations["add_webhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/webhooks/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Remove a webhook.
         * @description Only admins may. Its deliveries go with it; what is being sent may still arrive.
         */
        delete: operations["remove_webhook"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/webhooks/{id}/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The deliveries of a webhook.
         * @description Only admins may. The newest comes first; they are kept for 7 days.
         */
        get: operations["list_deliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/webhooks/{id}/deliveries/{delivery}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Deliver again.
         * @description Only admins may. The delivery is due at once, whatever became of it, and is tried for another day. It has the same id.
         */
        post: operations["retry_delivery"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admin/words": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The terms of the word filter.
         * @description Only moderators may. A cursor is `410` after the dictionary has changed.
         */
        get: operations["list_words"];
        /**
         * Replace the terms of the word filter.
         * @description Only moderators may. Larger dictionaries than a body holds are loaded by `gailou words load`.
         */
        put: operations["put_words"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Add terms to the word filter, and remove terms.
         * @description Only moderators may. A term that is there gets its new category and action.
         */
        patch: operations["patch_words"];
        trace?: never;
    };
    "/v1/admin/words/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Try a term.
         * @description Only moderators may. Answers which of the newest 1,000 visible comments it would be found in.
         */
        post: operations["test_word"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/auth/email": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Have a link mailed that signs in.
         * @description The answer is the same whether the address has an account or not.
         */
        post: operations["mail_link"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/auth/passkeys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The passkeys of the account.
         * @description Of an account of this installation whose role is `moderator` or `admin`.
         */
        get: operations["list_passkeys"];
        put?: never;
        /**
         * Add a passkey.
         * @description `409 version_conflict` where the account has it already, or 10 of them.
         */
        post: operations["add_passkey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/auth/passkeys/challenge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Begin to sign in with a passkey.
         * @description The options are for `navigator.credentials.get`, in a page at `public_url`.
         */
        post: operations["begin_sign_in"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/auth/passkeys/registration": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Begin to add a passkey.
         * @description The options are for `navigator.credentials.create`, in a page at `public_url`, which has a host with a name and not
         *     an address of numbers.
         */
        post: operations["begin_registration"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/auth/passkeys/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sign in with a passkey.
         * @description The browser gets the cookie by which it stays signed in.
         */
        post: operations["sign_in_with_passkey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/auth/passkeys/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Remove a passkey.
         * @description Browsers that it has signed in stay signed in.
         */
        delete: operations["remove_passkey"];
        options?: never;
        head?: never;
        /** Rename a passkey. */
        patch: operations["rename_passkey"];
        trace?: never;
    };
    "/v1/auth/providers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The ways to sign in.
         * @description None where the host signs the tokens of its members.
         */
        get: operations["list_providers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/auth/refresh": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Get another token.
         * @description By the cookie `gailou_refresh`, or by `refresh_token` in the body, which is answered with the next one. Each works
         *     once; one that is used again ends what it belongs to, and its reader signs in again.
         */
        post: operations["refresh_token"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/auth/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Begin a session.
         * @description By the code that a window of signing in hands to the page, or that is in the address of the page: it works once, for
         *     two minutes. The cookie `gailou_refresh` is for the site of the page.
         */
        post: operations["begin_session"];
        /**
         * Sign out.
         * @description Here, not elsewhere. The token to write with lives on for its minutes.
         */
        delete: operations["end_session"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/auth/{provider}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Go to a provider.
         * @description To be opened in a window: what it shows in the end hands the token to its opener, a page of `site`.
         */
        get: operations["go_to_provider"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/auth/{provider}/callback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Come back from a provider, or from a mail.
         * @description A page that hands `{"type":"gailou:signed-in","token","expires_at","code"}` to its opener at the site where it began,
         *     and to no other, and closes. Without an opener it says that one is signed in. For a mailed link, a page with a button,
         *     which opens the link.
         */
        get: operations["come_back"];
        put?: never;
        /**
         * Open a mailed link.
         * @description The button of the page that the link leads to. What it answers is what a reader sees who comes back from a provider;
         *     where the page that asked for the link is known, the browser goes there, with the code in the fragment of the address.
         */
        post: operations["open_mailed_link"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/avatars/{hash}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The picture of a member by the hash of their e-mail address.
         * @description The server gets it from the service of `avatars.url`, so that no reader does, and encodes it again: 160 × 160 pixels.
         *     Where there is none, it is a drawing that the hash decides.
         */
        get: operations["get_avatar"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/avatars/{signature}/{address}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A picture that a host site names.
         * @description The addresses are those of `avatar` in answers. The server gets the file from where the site has it, so that no reader
         *     does, and encodes it again: 160 × 160 pixels. Where there is none, it is a drawing.
         */
        get: operations["get_named_avatar"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/comments/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A comment. */
        get: operations["get_comment"];
        put?: never;
        post?: never;
        /**
         * Delete a comment.
         * @description Its author, the subject's owner and moderators may.
         */
        delete: operations["delete_comment"];
        options?: never;
        head?: never;
        /**
         * Edit a comment.
         * @description Only its author may, for 15 minutes, and 60 times unless the installation says otherwise.
         */
        patch: operations["edit_comment"];
        trace?: never;
    };
    "/v1/comments/{id}/ancestors": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The building (盖楼): the chain from the root to the comment. */
        get: operations["list_ancestors"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/comments/{id}/context": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What a permalink needs. */
        get: operations["get_context"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/comments/{id}/dislike": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Dislike a comment.
         * @description Idempotent. A member has one reaction: a like is replaced.
         */
        put: operations["put_dislike"];
        post?: never;
        /**
         * Take back a dislike.
         * @description Idempotent. It takes back only a dislike.
         */
        delete: operations["delete_dislike"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/comments/{id}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The earlier texts of a comment, as readers saw them.
         * @description The first one first. 404 where `rules.show_earlier_texts` is off. Left out is what not every reader saw, and what the word
         *     filter would not let through today.
         */
        get: operations["list_shown_texts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/comments/{id}/like": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Like a comment.
         * @description Idempotent. A member has one reaction: a dislike is replaced.
         */
        put: operations["put_like"];
        post?: never;
        /**
         * Take back a like.
         * @description Idempotent. It takes back only a like.
         */
        delete: operations["delete_like"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/comments/{id}/pin": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Pin a comment.
         * @description The subject's owner and moderators may. A subject has at most 10 pinned comments.
         */
        put: operations["pin_comment"];
        post?: never;
        /**
         * Unpin a comment.
         * @description The subject's owner and moderators may.
         */
        delete: operations["unpin_comment"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/comments/{id}/replies": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A page of a comment's descendants, flat. */
        get: operations["list_replies"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/comments/{id}/reports": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Report a comment.
         * @description A moderator is shown it. A second report of the same member changes nothing.
         */
        post: operations["report_comment"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/comments/{id}/tree": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A comment's descendants, nested. */
        get: operations["get_tree"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/counts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Counts of many subjects. */
        get: operations["get_counts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/edge/changes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The change feed.
         * @description For the edge: the comments that were edited, removed or restored. With an edge secret, only for requests that
         *     the edge signed.
         */
        get: operations["get_changes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/guests": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Become a guest.
         * @description Only where guests are allowed. Without a name a guest may react, and not post. It takes no `Idempotency-Key`.
         */
        post: operations["create_guest"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/guests/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * Choose another name as a guest.
         * @description The id stays; what was written keeps the name that it was written under.
         */
        patch: operations["rename_guest"];
        trace?: never;
    };
    "/v1/latest": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The newest comments.
         * @description Of all subjects that are not hidden, newest first, each with the title and the address of its subject. Of a type
         *     that few write to, those are found that are among the newest comments of all.
         */
        get: operations["list_latest"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/latest.atom": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The newest comments, as an Atom feed. */
        get: operations["get_latest_feed"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The member of the token. */
        get: operations["get_profile"];
        put?: never;
        post?: never;
        /**
         * Erase the reader.
         * @description What they wrote, their names and the earlier texts of their comments are overwritten for ever; their comments stay
         *     as tombstones, their reactions as numbers. Every token of the member is refused from then on: a repetition is `401`.
         */
        delete: operations["erase_self"];
        options?: never;
        head?: never;
        /**
         * Change what is one's own.
         * @description A name and a picture are changed here by an account of this installation alone; the id stays, and what was written
         *     keeps the name that it was written under. The next token has the new name.
         */
        patch: operations["change_profile"];
        trace?: never;
    };
    "/v1/me/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Everything that is stored of the reader.
         * @description Comments in every state, with earlier texts and the text as it was typed; reactions; reports; texts that the word filter
         *     refused. The answer is streamed: it is complete when it is valid JSON.
         */
        get: operations["export_member"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/me/friends/comments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The comments of the reader's friends.
         * @description Those that every reader sees, replies too, newest first.
         */
        get: operations["list_friends_comments"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/me/merge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make what a guest wrote the reader's.
         * @description The guest's comments and reactions are the member's from then on, and the guest's token is refused. Of some thousand
         *     comments the last are moved in the seconds after the answer. Doing it again changes nothing.
         */
        post: operations["merge_guest"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/me/notifications": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What the reader is notified of.
         * @description Answers to their comments, comments that mention them, and what moderators decided about theirs, newest first. The
         *     newest 1,000 are kept.
         */
        get: operations["list_notifications"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/me/notifications/read": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Mark notifications as read.
         * @description The one that is named, and all older ones.
         */
        post: operations["mark_read"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/me/overlay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The reader's own layer over shared pages. */
        get: operations["get_overlay"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/me/watches": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What the reader watches.
         * @description The latest first; at most 1,000.
         */
        get: operations["list_watches"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/media": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Upload a picture.
         * @description A JPEG, PNG, GIF (its first frame) or WebP of at most 5 MiB and 24 million pixels. It is encoded again, so nothing of
         *     the file is kept but its pixels. One that no comment uses is deleted after a day.
         */
        post: operations["upload_media"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/media/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The file of a picture. */
        get: operations["get_media"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/members/{id}/comments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A page of a member's public history, newest first. */
        get: operations["list_member_comments"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * What a text becomes.
         * @description Exactly what posting it would give: rendered, with masked words. Nothing is stored.
         */
        post: operations["preview_comment"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/subjects/{type}/{key}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A subject. */
        get: operations["get_subject"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/subjects/{type}/{key}/comments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A page of a subject's roots.
         * @description Following `page.next` to the end shows each comment that was visible in the state `page.epoch`, and stays
         *     visible, exactly once.
         */
        get: operations["list_comments"];
        put?: never;
        /** Publish a comment. */
        post: operations["create_comment"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/subjects/{type}/{key}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What happens on a subject.
         * @description Server-sent events for requests that accept `text/event-stream`: `comment`, `removed` and `counts`, with the
         *     `data` that is described here; the id of the last event of a commit is the subject's version. After a `reset`
         *     event, events are missing that the origin no longer has, and the client must load what it shows again. For other
         *     requests, a document of the events after a version. An event may be sent twice.
         */
        get: operations["watch_subject"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/subjects/{type}/{key}/feed.atom": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The newest comments of a subject, as an Atom feed. */
        get: operations["get_subject_feed"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/subjects/{type}/{key}/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Search in a thread.
         * @description The visible comments that contain all of `q`, the newest first. Words are found as a whole, in any case and without
         *     their accents; Chinese, Japanese and Korean characters wherever they stand beside each other, in traditional and
         *     simplified forms. A new comment is found within seconds.
         */
        get: operations["search_subject"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/subjects/{type}/{key}/watch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the reader watches a subject. */
        get: operations["get_watch"];
        /**
         * Watch a subject.
         * @description The reader is notified of its new comments: of the first one, and of the next one after they have read that. Doing it
         *     again changes nothing.
         */
        put: operations["put_watch"];
        post?: never;
        /** Do not watch a subject any more. */
        delete: operations["delete_watch"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/unsubscribe": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A page that ends the mails to a member.
         * @description The address is in every mail.
         */
        get: operations["show_unsubscribe"];
        put?: never;
        /**
         * End the mails to a member.
         * @description Also by the one click of a mail program. It may be repeated.
         */
        post: operations["unsubscribe"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/write/{type}/{key}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The form for a comment, as a page without a script. */
        get: operations["show_form"];
        put?: never;
        /**
         * Publish what the form has.
         * @description The fields are those of the form: `name`, `content`, `to` (the comment that it answers), `key` (for idempotency) and
         *     `token`.
         */
        post: operations["send_form"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description A token to write with, for some minutes. */
        AccessToken: {
            /**
             * Format: int64
             * @description When it expires, in Unix milliseconds.
             */
            expires_at: number;
            /** @description What the next token is for; where the former one was in the body. */
            refresh_token?: string;
            /** @description The token. */
            token: string;
        };
        /**
         * @description What happened in one minute, hour or day. Each number counts acts, not what is left of them: a later deletion or
         *     undo changes none.
         */
        ActivityPoint: {
            /**
             * Format: int64
             * @description When it begins, in Unix milliseconds, in UTC.
             */
            at: number;
            /**
             * Format: int64
             * @description Texts that were held for a moderator, of new comments (which are among the `posts`) and of edits; and comments
             *     that reports took out of the lists.
             */
            held: number;
            /**
             * Format: int64
             * @description Comments that were taken: answered `201`, or `202` because they are held. A repeated request counts once; what
             *     the word filter blocks and what is imported does not count.
             */
            posts: number;
            /**
             * Format: int64
             * @description Likes and dislikes that were given, changed or taken back.
             */
            reactions: number;
            /**
             * Format: int64
             * @description Decisions `reject` that were carried out. A text that the word filter blocks is stored nowhere and not counted.
             */
            rejected: number;
            /**
             * Format: int64
             * @description Reports by readers, the first of each reader on a comment.
             */
            reports: number;
        };
        /** @description What happened, step by step. */
        ActivitySeries: {
            /** @description Each step of the time that was asked for, the oldest first; zeros where nothing happened. */
            data: components["schemas"]["ActivityPoint"][];
        };
        /** @description The settings that admins change. */
        AdminSettings: {
            /** @description Dotted names of those that the configuration of the server fixes. */
            fixed: string[];
            /** @description What is in force, by section. */
            settings: Record<string, never>;
            /**
             * Format: int64
             * @description Grows by one with each change; 0 before the first.
             */
            version: number;
        };
        /**
         * @description A proof of work by ALTCHA's scheme, version 1: the number from 0 to `maxnumber` is to be found whose decimal digits
         *     behind `salt` have the SHA-256 `challenge`. The answer is ALTCHA's payload: the JSON object of `algorithm`, `challenge`,
         *     `number`, `salt` and `signature` in base64.
         */
        AltchaChallenge: {
            /** @description `SHA-256`. */
            algorithm: string;
            /** @description 64 hexadecimal digits. */
            challenge: string;
            /**
             * Format: int32
             * @description The largest number that it can be.
             */
            maxnumber: number;
            /** @description It says when the challenge expires (`expires`, in seconds since 1970) and for which guest it is (`guest`). */
            salt: string;
            /** @description 64 hexadecimal digits, to be sent back as they are. */
            signature: string;
        };
        /** @description A number from 1 to 9223372036854775807 in decimal digits, without sign or leading zeros. It is a string, because it may be larger than a JavaScript number can hold. */
        AuditId: string;
        /** @description A page of the audit log, newest first. */
        AuditPage: {
            /** @description The entries. */
            data: components["schemas"]["AuditRecord"][];
            /** @description Its place in the log. */
            page: components["schemas"]["ListPageInfo"];
        };
        /** @description An entry of the audit log. */
        AuditRecord: {
            /** @description What was done. */
            action: string;
            /** @description Who did it. */
            actor: components["schemas"]["MemberRef"];
            /** @description The same after it. */
            after: Record<string, never> | null;
            /**
             * Format: int64
             * @description When, in Unix milliseconds.
             */
            at: number;
            /** @description What was changed, as it was before. */
            before: Record<string, never> | null;
            /** @description Its id. */
            id: components["schemas"]["AuditId"];
            /** @description Why, in the moderator's words. */
            reason: string | null;
            /** @description What it was done to. */
            target: components["schemas"]["AuditTarget"];
        };
        /** @description What an entry of the audit log is about. */
        AuditTarget: {
            /** @description Its id; `TYPE/KEY` of a subject, and empty where there is only one. */
            id: string;
            /** @description What it is. */
            kind: components["schemas"]["AuditTargetKind"];
        };
        /**
         * @description What an entry of the audit log is about.
         * @enum {string}
         */
        AuditTargetKind: "comment" | "member" | "subject" | "words" | "settings" | "webhook" | "import";
        /** @description The author of a comment, as they were when they wrote it. */
        Author: {
            /** @description Address of a picture. */
            avatar: string | null;
            /** @description Whether the author has no account: the name is the guest's own choice. */
            guest: boolean;
            /** @description The member. */
            id: components["schemas"]["MemberId"];
            /**
             * Format: int32
             * @description The host's level of the member; 0 when the host gives none.
             */
            level: number;
            /** @description Name when the comment was written. */
            name: string;
            role: components["schemas"]["StaffRole"] | null;
        };
        /** @description What a moderator decides about several comments. */
        BulkDecision: {
            /** @description What happens to each. */
            action: components["schemas"]["ModeratorAction"];
            /** @description The comments. */
            ids: components["schemas"]["CommentId"][];
            /** @description The reason, for the audit log; no control characters. */
            reason?: string | null;
            /** @description The versions that the moderator has seen, by the ids of the comments; of one without it nothing is compared. */
            seen?: {
                [key: string]: string;
            } | null;
        };
        /** @description A challenge. The answer goes into the header `X-Gailou-Challenge` of the same request, sent again. */
        Challenge: components["schemas"]["AltchaChallenge"] | components["schemas"]["TurnstileChallenge"];
        /** @description The published comments that were edited, removed or restored, as far as the tables were read at `now`. */
        ChangeFeedPage: {
            ahead?: components["schemas"]["SlotsAhead"] | null;
            /**
             * Format: int64
             * @description How far `now` was behind the clock when the document was written, in milliseconds. It grows
             *     while the tables, or some of them, cannot be read.
             */
            behind: number;
            /**
             * Format: int64
             * @description Everything committed before this moment is known, in Unix milliseconds.
             */
            now: number;
            /** @description Each comment once, with the version of its last change. */
            rows: components["schemas"]["ChangedComment"][];
            /**
             * Format: int64
             * @description Everything committed from this moment on is in `rows` or `subjects`, in Unix milliseconds. A page whose rows were
             *     read earlier may show a comment that has changed without a row here.
             */
            since: number;
            /** @description Each subject that stands for changed comments of its own once, with the largest version of these changes. */
            subjects: components["schemas"]["VoidSubject"][];
            /**
             * Format: int32
             * @description The version of this document.
             */
            v: number;
            /**
             * Format: int64
             * @description The version of the dictionary in force.
             */
            words: number;
        };
        /** @description A comment's id, and the subject's version with its last change. */
        ChangedComment: string[];
        /**
         * @description The codes of the contract, each with its status.
         * @enum {string}
         */
        Code: "invalid_request" | "bad_cursor" | "token_missing" | "token_invalid" | "forbidden" | "muted" | "level_too_low" | "guests_not_allowed" | "site_not_allowed" | "challenge_required" | "unknown_subject_type" | "comment_not_found" | "parent_not_found" | "not_found" | "method_not_allowed" | "subject_closed" | "edit_window_over" | "version_conflict" | "cursor_expired" | "body_too_large" | "unsupported_media_type" | "content_rejected" | "idempotency_mismatch" | "rate_limited" | "internal" | "unavailable" | "overloaded" | "origin_unreachable";
        /**
         * @description A comment. A deleted one that has visible replies stays in lists as a tombstone: `author` is `null`, and
         *     `content`, `html`, `mentions` and `media` are empty.
         */
        Comment: {
            /** @description After a decision about it: the entry of the audit log, by which it is undone. */
            audit_id?: components["schemas"]["AuditId"];
            author: components["schemas"]["Author"] | null;
            /** @description The text as written; never HTML. */
            content: string;
            /**
             * Format: int64
             * @description When it was written, in Unix milliseconds.
             */
            created_at: number;
            /**
             * Format: int64
             * @description Members who dislike it.
             */
            dislikes: number;
            /**
             * Format: int64
             * @description When it was last edited, in Unix milliseconds; `null` when it never was.
             */
            edited_at: number | null;
            /** @description Its marks. */
            flags: components["schemas"]["CommentFlag"][];
            /**
             * Format: int64
             * @description Its number among the roots of its subject, or among the replies of its root. `null` until it is first
             *     published; afterwards it never changes.
             */
            floor: number | null;
            /** @description In the answer of a search: a part of the text as HTML, escaped, with what was found in `<mark>`. */
            highlight?: string;
            /** @description The text as safe HTML. */
            html: string;
            /** @description Its id. */
            id: components["schemas"]["CommentId"];
            /**
             * Format: int32
             * @description How deep it is drawn; the mode sets the limit.
             */
            level: number;
            /**
             * Format: int64
             * @description Members who like it.
             */
            likes: number;
            /** @description Its pictures; none on a tombstone. */
            media: components["schemas"]["Media"][];
            /** @description Members it mentions. */
            mentions: components["schemas"]["MemberRef"][];
            /**
             * Format: int64
             * @description On roots in lists: visible replies beyond `top_replies`.
             */
            more_replies?: number;
            parent_id: components["schemas"]["CommentId"] | null;
            /** @description The true chain from the root to the comment itself. */
            path: components["schemas"]["CommentId"][];
            /**
             * Format: int64
             * @description Visible descendants.
             */
            replies: number;
            reply_to: components["schemas"]["MemberRef"] | null;
            /** @description The root of its thread; of a root, itself. */
            root_id: components["schemas"]["CommentId"];
            /** @description Its state. */
            state: components["schemas"]["CommentState"];
            /** @description What it is about. */
            subject: components["schemas"]["SubjectRef"];
            /** @description On roots in lists: the first replies in `hot` order. */
            top_replies?: components["schemas"]["Comment"][];
            /** @description The readers who may see it. */
            visibility: components["schemas"]["Visibility"];
        };
        /** @description The chain from the root to the comment: the root first, the comment last. */
        CommentChain: components["schemas"]["Comment"][];
        /** @description What a permalink needs: a comment with what surrounds it. */
        CommentContext: {
            /** @description The chain above the comment, root first, without the comment. */
            ancestors: components["schemas"]["Comment"][];
            /** @description The comment. */
            comment: components["schemas"]["Comment"];
            /** @description The subject's first page. */
            root_page: components["schemas"]["CommentPage"];
            /** @description Others that answer the same comment. */
            siblings: components["schemas"]["Comment"][];
        };
        /** @description What a moderator decides. */
        CommentDecision: {
            /** @description What happens to the comment. */
            action: components["schemas"]["ModeratorAction"];
            /** @description The reason, for the audit log; no control characters. */
            reason?: string | null;
            /**
             * @description `version` of the entry of the queue that the moderator has seen: where the comment is another by now, nothing happens
             *     (409).
             */
            seen?: string | null;
        };
        /** @description The new text of a comment. */
        CommentEdit: {
            /** @description The new text; the rules are those of a new comment. */
            content: string;
        };
        /**
         * @description A mark on a comment.
         * @enum {string}
         */
        CommentFlag: "pinned" | "owner_pinned" | "featured" | "edited";
        /** @description A number from 1 to 9223372036854775807 in decimal digits, without sign or leading zeros. It is a string, because it may be larger than a JavaScript number can hold. */
        CommentId: string;
        /** @description A comment and its place in the thread. */
        CommentLocation: {
            /** @description The comment. */
            id: components["schemas"]["CommentId"];
            parent_id: components["schemas"]["CommentId"] | null;
            /** @description The root of its thread; for a root, its own id. */
            root_id: components["schemas"]["CommentId"];
        };
        /** @description A page of comments. */
        CommentPage: {
            /** @description The comments. */
            data: components["schemas"]["Comment"][];
            /**
             * @description In lists of a subject in mode `building`: of the chain below each shown comment the first two and the last
             *     three that are not on the page themselves. Where they need more than a page holds, some are missing.
             */
            floors?: {
                [key: string]: components["schemas"]["QuotedFloor"];
            };
            /** @description Its place in the list. */
            page: components["schemas"]["PageInfo"];
            /** @description What the comments are about. A member's history has no subject. */
            subject: components["schemas"]["Subject"];
        };
        /**
         * @description The state of a comment.
         * @enum {string}
         */
        CommentState: "published" | "review" | "rejected" | "hidden" | "deleted";
        /** @description A comment with what is drawn under it. */
        CommentTree: {
            /** @description What is drawn under it. */
            children: components["schemas"]["CommentTree"][];
            /** @description The comment. */
            comment: components["schemas"]["Comment"];
            more: components["schemas"]["TreeMore"] | null;
        };
        /** @description A comment of a list with `view=compact`: without `content` and `subject`; without `media` and `mentions` where they are empty; and without `path`, unless the subject is in mode `building`. */
        CompactComment: {
            /** @description After a decision about it: the entry of the audit log, by which it is undone. */
            audit_id?: components["schemas"]["AuditId"];
            author: components["schemas"]["Author"] | null;
            /**
             * Format: int64
             * @description When it was written, in Unix milliseconds.
             */
            created_at: number;
            /**
             * Format: int64
             * @description Members who dislike it.
             */
            dislikes: number;
            /**
             * Format: int64
             * @description When it was last edited, in Unix milliseconds; `null` when it never was.
             */
            edited_at: number | null;
            /** @description Its marks. */
            flags: components["schemas"]["CommentFlag"][];
            /**
             * Format: int64
             * @description Its number among the roots of its subject, or among the replies of its root. `null` until it is first
             *     published; afterwards it never changes.
             */
            floor: number | null;
            /** @description In the answer of a search: a part of the text as HTML, escaped, with what was found in `<mark>`. */
            highlight?: string;
            /** @description The text as safe HTML. */
            html: string;
            /** @description Its id. */
            id: components["schemas"]["CommentId"];
            /**
             * Format: int32
             * @description How deep it is drawn; the mode sets the limit.
             */
            level: number;
            /**
             * Format: int64
             * @description Members who like it.
             */
            likes: number;
            /** @description Its pictures; none on a tombstone. */
            media?: components["schemas"]["Media"][];
            /** @description Members it mentions. */
            mentions?: components["schemas"]["MemberRef"][];
            /**
             * Format: int64
             * @description On roots in lists: visible replies beyond `top_replies`.
             */
            more_replies?: number;
            parent_id: components["schemas"]["CommentId"] | null;
            /** @description The true chain from the root to the comment itself. */
            path?: components["schemas"]["CommentId"][];
            /**
             * Format: int64
             * @description Visible descendants.
             */
            replies: number;
            reply_to: components["schemas"]["MemberRef"] | null;
            /** @description The root of its thread; of a root, itself. */
            root_id: components["schemas"]["CommentId"];
            /** @description Its state. */
            state: components["schemas"]["CommentState"];
            /** @description On roots in lists: the first replies in `hot` order. */
            top_replies?: components["schemas"]["CompactComment"][];
            /** @description The readers who may see it. */
            visibility: components["schemas"]["Visibility"];
        };
        /** @description The chain from the root to the comment, with compact comments. */
        CompactCommentChain: components["schemas"]["CompactComment"][];
        /** @description A compact comment with what surrounds it. */
        CompactCommentContext: {
            /** @description The chain above the comment, root first, without the comment. */
            ancestors: components["schemas"]["CompactComment"][];
            /** @description The comment. */
            comment: components["schemas"]["CompactComment"];
            /** @description The subject's first page. */
            root_page: components["schemas"]["CompactCommentPage"];
            /** @description Others that answer the same comment. */
            siblings: components["schemas"]["CompactComment"][];
        };
        /** @description A page of compact comments. */
        CompactCommentPage: {
            /** @description The comments. */
            data: components["schemas"]["CompactComment"][];
            /**
             * @description In lists of a subject in mode `building`: of the chain below each shown comment the first two and the last
             *     three that are not on the page themselves. Where they need more than a page holds, some are missing.
             */
            floors?: {
                [key: string]: components["schemas"]["QuotedFloor"];
            };
            /** @description Its place in the list. */
            page: components["schemas"]["PageInfo"];
            /** @description What the comments are about. A member's history has no subject. */
            subject: components["schemas"]["CompactSubject"];
        };
        /** @description A compact comment with what is drawn under it. */
        CompactCommentTree: {
            /** @description What is drawn under it. */
            children: components["schemas"]["CompactCommentTree"][];
            /** @description The comment. */
            comment: components["schemas"]["CompactComment"];
            more: components["schemas"]["TreeMore"] | null;
        };
        /** @description A page of compact comments on various subjects. */
        CompactHistoryPage: {
            /** @description The comments. */
            data: components["schemas"]["CompactComment"][];
            /** @description The page's place in the list. */
            page: components["schemas"]["PageInfo"];
        };
        /** @description A subject whose pinned comments are compact. */
        CompactSubject: {
            /**
             * Format: int64
             * @description Visible comments.
             */
            comments: number;
            /** @description Whether readers may see the earlier texts of edited comments; left out where they may not. */
            earlier_texts?: boolean;
            /** @description The host's key. */
            key: components["schemas"]["SubjectKeyText"];
            /** @description How its threads are built. */
            mode: components["schemas"]["Mode"];
            owner_id: components["schemas"]["MemberId"] | null;
            /** @description Pinned comments, in the order to show them. They keep their place in the lists as well. */
            pinned: components["schemas"]["CompactComment"][];
            /**
             * Format: int64
             * @description Visible roots.
             */
            roots: number;
            /** @description Whether it takes comments. */
            state: components["schemas"]["SubjectState"];
            /** @description Its title, as the host registered it. */
            title: string | null;
            /** @description The configured type. */
            type: components["schemas"]["SubjectTypeName"];
            /** @description Its address, as the host registered it. */
            url: string | null;
        };
        /** @description What became of one of several decisions. */
        DecisionOutcome: {
            /** @description The row of the audit log, where it was carried out. */
            audit_id?: components["schemas"]["AuditId"];
            /** @description The code of the error, where it was not. */
            code?: string;
            /** @description The comment. */
            id: components["schemas"]["CommentId"];
            /**
             * Format: int32
             * @description The status that the decision alone would have been answered with.
             */
            status: number;
        };
        /** @description What became of several decisions, in their order. */
        DecisionOutcomes: {
            /** @description One outcome for each comment. */
            data: components["schemas"]["DecisionOutcome"][];
        };
        /**
         * @description Whether a dependency answers.
         * @enum {string}
         */
        DependencyState: "ok" | "failed";
        /** @description Terms of the word filter, in the order of their texts. */
        DictionaryPage: {
            /** @description The terms. */
            data: components["schemas"]["Term"][];
            /** @description Their place in the dictionary. */
            page: components["schemas"]["ListPageInfo"];
            /**
             * Format: int64
             * @description The version of the dictionary; 0 before the first one.
             */
            version: number;
        };
        /** @description The dictionary after a change. */
        DictionaryVersion: {
            /**
             * Format: int64
             * @description How many terms it has.
             */
            count: number;
            /**
             * Format: int64
             * @description Its version.
             */
            version: number;
        };
        /** @description A number from 1 to 9223372036854775807 in decimal digits, without sign or leading zeros. It is a string, because it may be larger than a JavaScript number can hold. */
        EventId: string;
        /** @description The member of an export. */
        ExportedMember: {
            /**
             * Format: int64
             * @description Since when they have an account of this installation, in Unix milliseconds.
             */
            account_since?: number | null;
            /** @description The address of their picture. */
            avatar?: string | null;
            /** @description Where they are mailed. */
            email?: string | null;
            /** @description Their friends. */
            friends: components["schemas"]["MemberId"][];
            /** @description Whether they have no account. */
            guest: boolean;
            /** @description Their id. */
            id: components["schemas"]["MemberId"];
            /** @description The language that they have chosen, as a language tag. */
            language?: string | null;
            /**
             * Format: int32
             * @description The host's level of them.
             */
            level: number;
            /**
             * Format: int64
             * @description Until when they may not write, in Unix milliseconds.
             */
            muted_until?: number | null;
            /** @description Their name. */
            name: string;
            /** @description How often. */
            notify: components["schemas"]["NotifyChoice"];
            /** @description `member`, `moderator` or `admin`. */
            role: string;
        };
        /** @description A wrong field. */
        FieldError: {
            /** @description What it must be. */
            detail: string;
            /** @description Its name: a JSON field, a query parameter, a path segment or a header; `body` for the body as a whole. */
            field: string;
        };
        /** @description An earlier text of a comment. */
        FormerText: {
            /** @description The text. */
            content: string;
            /**
             * Format: int64
             * @description When it was replaced, in Unix milliseconds.
             */
            replaced_at: number;
        };
        /** @description The earlier texts of a comment, the first one first. */
        FormerTextPage: {
            /** @description The texts. */
            data: components["schemas"]["FormerText"][];
            /** @description All are on one page. */
            page: components["schemas"]["ListPageInfo"];
        };
        /** @description The new name of a guest. */
        GuestChanges: {
            /** @description The new name; the rules are those of a new guest. */
            name: string;
        };
        /** @description A new guest. */
        GuestCreated: {
            /** @description The new guest. */
            member: components["schemas"]["MemberRef"];
            /** @description The bearer token to write with. */
            token: string;
        };
        /** @description The guest that the reader was. */
        GuestMerge: {
            /** @description The token of the guest. */
            guest_token: string;
        };
        /** @description The process is alive. */
        HealthStatus: {
            status: components["schemas"]["Liveness"];
        };
        /** @description A page of comments on various subjects. */
        HistoryPage: {
            /** @description The comments. */
            data: components["schemas"]["Comment"][];
            /** @description The page's place in the list. */
            page: components["schemas"]["PageInfo"];
        };
        /** @description A line of the answer. */
        ImportLineAnswer: {
            /** @description Its number, from 1. */
            line: number;
            reason: string;
        } | {
            /** @description Which one. */
            item: string;
            reason: string;
        } | {
            left_out: {
                [key: string]: number;
            };
        } | {
            /** Format: int64 */
            done: number;
            /** Format: int64 */
            total: number;
        } | {
            /** Format: int64 */
            bad: number;
            /** Format: int64 */
            imported: number;
            /** Format: int64 */
            reparented: number;
            /** Format: int64 */
            skipped: number;
        } | {
            error: string;
        };
        /** @description The comments that a moderator has been given. */
        LeasedComments: {
            /** @description Those of the request that are in the queue and that no other moderator has. */
            leased: components["schemas"]["CommentId"][];
        };
        /** @description The place of a page in a list of the moderators. */
        ListPageInfo: {
            /** @description Whether another page follows. */
            has_more: boolean;
            /** @description The cursor of the next page; opaque. */
            next: string | null;
        };
        /** @description One event. `id` is the subject's version with it; events of one commit share it. */
        LiveEvent: {
            data: components["schemas"]["CommentLocation"];
            id: components["schemas"]["SubjectVersion"];
            /** @enum {string} */
            type: "comment";
        } | {
            data: components["schemas"]["RemovedComment"];
            id: components["schemas"]["SubjectVersion"];
            /** @enum {string} */
            type: "removed";
        } | {
            data: components["schemas"]["SubjectCounts"];
            id: components["schemas"]["SubjectVersion"];
            /** @enum {string} */
            type: "counts";
        };
        /** @description What happened on a subject after a version. */
        LiveEventPage: {
            /** @description In the order of their commits. An event may be sent twice. */
            events: components["schemas"]["LiveEvent"][];
            /**
             * @description Events are missing that the origin no longer has: the client must load what it shows again. There are
             *     no events then.
             */
            reset: boolean;
            /** @description The version from which to continue. */
            version: components["schemas"]["SubjectVersion"];
        };
        /**
         * @description A process that answers is alive.
         * @enum {string}
         */
        Liveness: "ok";
        /** @description A mail that signs in. */
        MailedLinkRequest: {
            /**
             * Format: email
             * @description The mailbox.
             */
            email: string;
            /**
             * @description The page itself: the browser goes there when the link is opened, with
             *     `#gailou-code=…&gailou-state=…` in the address.
             */
            page?: string | null;
            /** @description The origin of the page that gets the token. */
            site: string;
            /** @description What the page knows its request by. */
            state?: string | null;
        };
        /** @description A picture of a comment. */
        Media: {
            /** @description What it shows, for who does not see it; may be empty. */
            alt: string;
            /**
             * Format: int32
             * @description Its height in pixels.
             */
            height: number;
            /** @description Its id. */
            id: components["schemas"]["MediaId"];
            /** @description Its address, relative to that of the API. */
            url: string;
            /**
             * Format: int32
             * @description Its width in pixels.
             */
            width: number;
        };
        /** @description A number from 1 to 9223372036854775807 in decimal digits, without sign or leading zeros. It is a string, because it may be larger than a JavaScript number can hold. */
        MediaId: string;
        /** @description What the host's service says of a member; each `null` where it says nothing that can be used. */
        MemberAccount: {
            /** @description Address of their picture. */
            avatar: string | null;
            /**
             * Format: int32
             * @description Their level, unless moderators gave them another one.
             */
            level: number | null;
            /** @description The name that they write under. */
            name: string | null;
        };
        /** @description What moderators say of a member. A field that is left out stays as it is; `null` takes it back. */
        MemberChanges: {
            /** @description The member's friends. */
            friends?: components["schemas"]["MemberId"][] | null;
            /**
             * Format: int32
             * @description The level that counts instead of the token's.
             */
            level?: number | null;
            /**
             * Format: int64
             * @description Until when the member may not write, in Unix milliseconds.
             */
            muted_until?: number | null;
            /** @description What moderators should know; no control characters but line feeds. */
            note?: string | null;
            role?: components["schemas"]["Role"] | null;
            /**
             * Format: int64
             * @description Tokens that were issued before are refused, and those that do not say when; in Unix milliseconds, not later than
             *     now.
             */
            tokens_not_before?: number | null;
        };
        /** @description A comment of an export, with the texts that readers do not see. */
        MemberComment: components["schemas"]["Comment"] & {
            /** @description Earlier texts, the first one first. */
            history: components["schemas"]["ReplacedText"][];
            /** @description The text as it was typed, where the word filter masked part of it. */
            written?: string | null;
        };
        /** @description How many comments a member has, among the newest 10,000. */
        MemberCounts: {
            /** @description Whether all of their comments were looked at. */
            complete: boolean;
            /**
             * Format: int64
             * @description Held for a moderator. One that readers see while an edit of it waits is published.
             */
            held: number;
            /**
             * Format: int64
             * @description Published.
             */
            published: number;
            /**
             * Format: int64
             * @description Rejected.
             */
            rejected: number;
            /**
             * Format: int64
             * @description Reported by readers, whatever became of them.
             */
            reported: number;
        };
        /** @description A number from 1 to 9223372036854775807 in decimal digits, without sign or leading zeros. It is a string, because it may be larger than a JavaScript number can hold. */
        MemberId: string;
        /** @description A notification of an export. */
        MemberNotification: {
            /** @description What was decided; of a decision alone. */
            action?: string | null;
            /** @description The comment. */
            comment_id: components["schemas"]["CommentId"];
            /**
             * Format: int64
             * @description When it happened, in Unix milliseconds.
             */
            created_at: number;
            /** @description Its id. */
            id: components["schemas"]["EventId"];
            /** @description Why they were notified. */
            kind: components["schemas"]["NotificationKind"];
            /** @description Whether they have read it. */
            read: boolean;
        };
        /** @description A reaction of an export. */
        MemberReaction: {
            /** @description The comment. */
            comment_id: components["schemas"]["CommentId"];
            /** @description The reaction. */
            reaction: components["schemas"]["Reaction"];
        };
        /** @description A member, with the last name that is known. */
        MemberRef: {
            /** @description The member. */
            id: components["schemas"]["MemberId"];
            /** @description The name; empty when none is known. */
            name: string;
        };
        /** @description A report in an export. */
        MemberReport: {
            /**
             * Format: int64
             * @description When, in Unix milliseconds.
             */
            at: number;
            /** @description The comment. */
            comment_id: components["schemas"]["CommentId"];
            /** @description What the member wrote. */
            note: string | null;
            /** @description Why it was reported. */
            reason: components["schemas"]["ReportReason"];
        };
        /** @description A watched subject of an export. */
        MemberWatch: {
            /**
             * Format: int64
             * @description Since when they watch it, in Unix milliseconds.
             */
            created_at: number;
            /** @description `type/key`. */
            subject: string;
        };
        /**
         * @description How the threads of a subject are built and drawn: one level (`flat`), roots with one flat list each
         *     (`two_level`), nested down to a level limit (`tree`), or nested without a limit of its own (`building`, 盖楼).
         * @enum {string}
         */
        Mode: "flat" | "two_level" | "tree" | "building";
        /** @description A member, with what moderators say of them; each `null` where nothing is said. */
        ModeratedMember: {
            /**
             * @description What the host's service says of them today; left out in lists, and where the service is not asked, does not know
             *     them or does not answer.
             */
            account?: components["schemas"]["MemberAccount"];
            /** @description Address of the picture that they last wrote with. */
            avatar: string | null;
            /** @description How many comments they have; left out in lists. */
            counts?: components["schemas"]["MemberCounts"];
            /** @description The friends that moderators gave them; left out in lists. */
            friends?: components["schemas"]["MemberId"][];
            /** @description Whether they have no account. */
            guest: boolean;
            /** @description The member. */
            id: components["schemas"]["MemberId"];
            /** @description Their newest comments, whatever their state; left out in lists. */
            last?: components["schemas"]["Comment"][];
            /**
             * Format: int32
             * @description The level that counts instead of the token's.
             */
            level: number | null;
            /**
             * Format: int64
             * @description Until when they may not write, in Unix milliseconds.
             */
            muted_until: number | null;
            /** @description The name that they last wrote under; empty before their first comment. */
            name: string;
            /** @description Other names under which they wrote their newest comments; left out in lists. */
            names?: string[];
            /** @description What moderators have noted. */
            note: string | null;
            role: components["schemas"]["Role"] | null;
            /**
             * Format: int32
             * @description The level that they last wrote with.
             */
            token_level: number;
            /**
             * Format: int64
             * @description Tokens that were issued before are refused, in Unix milliseconds.
             */
            tokens_not_before: number | null;
        };
        /** @description A page of members. */
        ModeratedMemberPage: {
            /** @description The members. */
            data: components["schemas"]["ModeratedMember"][];
            /** @description Its place in the list. */
            page: components["schemas"]["ListPageInfo"];
        };
        /** @description A subject in the moderators' list. */
        ModeratedSubject: {
            /**
             * Format: int64
             * @description Visible comments; of a hidden subject too.
             */
            comments: number;
            /** @description The host's key. */
            key: components["schemas"]["SubjectKeyText"];
            /**
             * Format: int64
             * @description When its newest comment was written, whatever its state, in Unix milliseconds; `null` where there is none.
             */
            last_activity: number | null;
            /** @description How its threads are built. */
            mode: components["schemas"]["Mode"];
            owner_id: components["schemas"]["MemberId"] | null;
            /**
             * Format: int64
             * @description Visible roots; of a hidden subject too.
             */
            roots: number;
            /** @description Whether it takes comments. */
            state: components["schemas"]["SubjectState"];
            /** @description Its title, as it was registered. */
            title: string | null;
            /** @description The configured type. */
            type: components["schemas"]["SubjectTypeName"];
            /** @description Its address, as it was registered. */
            url: string | null;
        };
        /** @description A page of subjects. */
        ModeratedSubjectPage: {
            /** @description The subjects. */
            data: components["schemas"]["ModeratedSubject"][];
            /** @description The place of the page in the list. */
            page: components["schemas"]["ListPageInfo"];
        };
        /** @enum {string} */
        ModeratorAction: "approve" | "reject" | "hide" | "restore" | "delete" | "feature" | "unfeature" | "pin" | "unpin";
        /** @description A network that is blocked. */
        NetworkBlock: {
            /**
             * Format: int64
             * @description When the block ends, in Unix milliseconds.
             */
            until: number;
        };
        /** @description A comment to publish. */
        NewComment: {
            /**
             * @description The text as written: not blank; at most 5,000 characters and 20,000 bytes of UTF-8; no control
             *     characters other than line breaks and tabs, no bidirectional embeddings, overrides or isolates, and at most
             *     six combining marks on one letter. A subject type may allow less.
             */
            content: string;
            /** @description Pictures that its author has uploaded, in their order; duplicates are dropped. */
            media?: components["schemas"]["MediaId"][] | null;
            /** @description Members it mentions; duplicates are dropped. */
            mentions?: components["schemas"]["MemberId"][] | null;
            parent_id?: components["schemas"]["CommentId"] | null;
            visibility?: components["schemas"]["Visibility"] | null;
        };
        /** @description A guest to be. */
        NewGuest: {
            /** @description 1 to 64 characters, not blank, without control characters; spaces around the name are removed. */
            name?: string;
        };
        /** @description A passkey to add. */
        NewPasskey: {
            /** @description That of the options. */
            challenge: string;
            /** @description The answer of `navigator.credentials.create`, as its `toJSON()` writes it. */
            credential: Record<string, never>;
            /** @description What its owner calls it. */
            name: string;
        };
        /** @description Something that a member is notified of. */
        Notification: {
            /** @description What was decided: `approve`, `reject`, `hide`, `delete` or `feature`; of a decision alone. */
            action: string | null;
            actor: components["schemas"]["MemberRef"] | null;
            comment: components["schemas"]["Comment"] | null;
            /**
             * Format: int64
             * @description When it happened, in Unix milliseconds.
             */
            created_at: number;
            /** @description Its id: a larger one is newer. */
            id: components["schemas"]["EventId"];
            /** @description Why they are notified. */
            kind: components["schemas"]["NotificationKind"];
            /** @description Whether they have read it. */
            read: boolean;
            /** @description The title of the watched subject, where it has one and is not hidden; of `watched` alone. */
            title: string | null;
        };
        /**
         * @description Why a member is notified of a comment.
         * @enum {string}
         */
        NotificationKind: "reply" | "mention" | "watched" | "decision";
        /** @description A page of what a member is notified of, newest first. */
        NotificationPage: {
            /** @description What they are notified of. */
            data: components["schemas"]["Notification"][];
            /** @description Its place in the list. */
            page: components["schemas"]["ListPageInfo"];
            /**
             * Format: int64
             * @description How many of all that are kept they have not read.
             */
            unread: number;
        };
        /**
         * @description How often a member is notified by mail of what concerns them.
         * @enum {string}
         */
        NotifyChoice: "never" | "daily" | "each";
        /** @description The reader's own layer over the pages that all readers share. */
        Overlay: {
            /** @description By comment id. Unknown ids are left out. */
            data: {
                [key: string]: components["schemas"]["OverlayEntry"];
            };
            /**
             * @description The reader's own comments that are not in the lists: held for a moderator, visible to the reader alone, or
             *     not yet in the lists.
             */
            pending: components["schemas"]["Comment"][];
        };
        /** @description What one reader sees and may do on one comment. */
        OverlayEntry: {
            /** @description Whether the reader may delete it. */
            can_delete: boolean;
            /** @description Whether the reader may edit it now. */
            can_edit: boolean;
            /**
             * Format: int32
             * @description How many passages of the reader's own text the word filter has masked; absent where it has masked none.
             */
            masked?: number;
            reaction: components["schemas"]["Reaction"] | null;
        };
        /** @description The member of a token. */
        OwnProfile: {
            /** @description Address of a picture. */
            avatar: string | null;
            /** @description Where mails go. */
            email: string | null;
            /** @description Whether they have no account. */
            guest: boolean;
            /** @description The member. */
            id: components["schemas"]["MemberId"];
            /** @description The language that they have chosen. */
            language: string | null;
            /**
             * Format: int32
             * @description The level.
             */
            level: number;
            /** @description The name; empty where none is chosen yet. */
            name: string;
            /** @description How often mails come. */
            notify: components["schemas"]["NotifyChoice"];
            /** @description What the member may do. */
            role: components["schemas"]["Role"];
        };
        /** @description The place of a page in its list. */
        PageInfo: {
            /** @description The state of the list that the walk shows: the subject's version on the first page. */
            epoch: string;
            /** @description Whether another page follows. One may follow even a page with fewer comments than `limit`, or none. */
            has_more: boolean;
            /** @description The cursor of the next page; opaque. */
            next: string | null;
            /** @description The order of the list. */
            sort: components["schemas"]["Sort"];
        };
        /** @description A passkey of an account. */
        Passkey: {
            /**
             * Format: int64
             * @description When it was added, in Unix milliseconds.
             */
            created_at: number;
            /** @description The passkey. */
            id: components["schemas"]["PasskeyId"];
            /** @description What its owner calls it. */
            name: string;
            /**
             * Format: int64
             * @description When it signed in last; null before the first time.
             */
            used_at: number | null;
        };
        /** @description The answer of a passkey. */
        PasskeyAnswer: {
            /** @description That of the options. */
            challenge: string;
            /** @description The answer of `navigator.credentials.get`, as its `toJSON()` writes it. */
            credential: Record<string, never>;
        };
        /** @description What a browser asks an authenticator for. It can be answered once, for 5 minutes. */
        PasskeyChallenge: {
            /** @description What the answer is sent with. */
            challenge: string;
            /**
             * @description `publicKey` of `navigator.credentials.create` or `navigator.credentials.get`, as WebAuthn writes it in JSON:
             *     bytes are in base64 for addresses.
             */
            options: Record<string, never>;
        };
        /** @description A number from 1 to 9223372036854775807 in decimal digits, without sign or leading zeros. It is a string, because it may be larger than a JavaScript number can hold. */
        PasskeyId: string;
        /** @description The passkeys of an account. */
        PasskeyList: {
            /** @description In the order in which they were added. */
            data: components["schemas"]["Passkey"][];
        };
        /** @description Another name of a passkey. */
        PasskeyName: {
            /** @description What its owner calls it. */
            name: string;
        };
        /**
         * Format: binary
         * @description The bytes of a picture.
         */
        PictureFile: string;
        /** @description A text as it would be shown. */
        Preview: {
            /** @description Its HTML, of the elements that comments may have, with the words masked that the filter masks. */
            html: string;
        };
        /** @description A text to preview. */
        PreviewRequest: {
            /** @description The text; the rules are those of a new comment. */
            content: string;
        };
        /** @description A refusal, as `application/problem+json` (RFC 9457). */
        Problem: {
            challenge?: components["schemas"]["Challenge"] | null;
            /** @description What went wrong, for a program: stable, never translated. */
            code: components["schemas"]["Code"];
            /** @description What went wrong, for a person. */
            detail: string;
            /** @description Each wrong field. */
            errors?: components["schemas"]["FieldError"][];
            /**
             * Format: int32
             * @description The HTTP status.
             */
            status: number;
            /** @description The status in words. */
            title: string;
            /** @description The request's id, as in `X-Request-Id`. */
            trace_id: string;
            /**
             * Format: uri-reference
             * @description A URI reference that names the kind of problem.
             */
            type: string;
        };
        /** @description What a member changes of themselves. */
        ProfileChanges: {
            /** @description The address of a picture, of an account of this installation; null for none. */
            avatar?: string | null;
            /** @description A language tag, such as `zh-CN`; null for no choice. */
            language?: string | null;
            /** @description The new name, of an account of this installation; the rules are those of a new guest. */
            name?: string;
            /** @description How often mails come about replies, mentions and decisions. */
            notify?: components["schemas"]["NotifyChoice"];
        };
        /**
         * @description How a provider is spoken to.
         * @enum {string}
         */
        ProviderKind: "oidc" | "oauth2" | "email";
        /** @description A comment in the review queue. */
        QueueEntry: {
            /** @description The comment; where an edit of it waits, with the new text and `state` `review`. */
            comment: components["schemas"]["Comment"];
            /** @description Up to two comments above it, the higher one first. */
            context: components["schemas"]["Comment"][];
            leased_by: components["schemas"]["MemberRef"] | null;
            /** @description The text that readers see while the edit waits; `null` where no edit waits. */
            published: string | null;
            /** @description What is shown of it; opaque. A decision that sends it back as `seen` is refused where the comment is another by then. */
            version: string;
            /**
             * Format: int64
             * @description Since when it is here, in Unix milliseconds.
             */
            waiting_since: number;
            /** @description Why it is here: one reason for each kind and detail. */
            why: components["schemas"]["ReviewReason"][];
            /** @description The text as it was typed. */
            written: string;
        };
        /** @description The comments that a moderator takes. */
        QueueLease: {
            /** @description The comments. */
            ids: components["schemas"]["CommentId"][];
        };
        /** @description A page of the review queue, most urgent first. */
        QueuePage: {
            /**
             * Format: int64
             * @description How many comments wait in this part of the queue.
             */
            count: number;
            /** @description The comments. */
            data: components["schemas"]["QueueEntry"][];
            /** @description Its place in the queue. */
            page: components["schemas"]["ListPageInfo"];
        };
        /** @description A comment as those above it quote it. A deleted one is a tombstone: `author` is `null`, and `html` is empty. */
        QuotedFloor: {
            author: components["schemas"]["Author"] | null;
            /**
             * Format: int64
             * @description When it was written, in Unix milliseconds.
             */
            created_at: number;
            /** @description The text as safe HTML. */
            html: string;
            /**
             * Format: int64
             * @description Members who like it.
             */
            likes: number;
            /** @description Its pictures; absent where there are none. */
            media?: components["schemas"]["Media"][];
            /** @description Its state. */
            state: components["schemas"]["CommentState"];
        };
        /**
         * @description A member's reaction to a comment.
         * @enum {string}
         */
        Reaction: "like" | "dislike";
        /** @description A comment's counts after a reaction. */
        ReactionResult: {
            /**
             * Format: int64
             * @description Members who dislike it now.
             */
            dislikes: number;
            /** @description The comment. */
            id: components["schemas"]["CommentId"];
            /**
             * Format: int64
             * @description Members who like it now.
             */
            likes: number;
            reaction: components["schemas"]["Reaction"] | null;
        };
        /** @description Up to where a member has read. */
        ReadMark: {
            /** @description The newest notification that they have read: it and all older ones are marked. */
            up_to: components["schemas"]["EventId"];
        };
        /** @description Whether comments can be read, whether they can be written, and the state of each dependency. */
        Readiness: {
            /** @description Each dependency by its name. */
            dependencies: {
                [key: string]: components["schemas"]["DependencyState"];
            };
            /** @description `ok` when every dependency and the writes are, `failed` when nothing answers that comments are read from. */
            status: components["schemas"]["ReadinessStatus"];
            /** @description Whether writes are stored. A process that stores none still answers reads, so this alone is not `failed`. */
            writes: components["schemas"]["DependencyState"];
        };
        /**
         * @description Whether requests can be served.
         * @enum {string}
         */
        ReadinessStatus: "ok" | "degraded" | "failed";
        /** @description The refresh token of an app; browsers have a cookie. */
        RefreshRequest: {
            /** @description The token that was answered last. */
            refresh_token?: string | null;
        };
        /** @description A text that the word filter refused, kept for moderators. */
        RefusedText: {
            /**
             * Format: int64
             * @description When it was refused, in Unix milliseconds.
             */
            at: number;
            /** @description Its author. */
            author: components["schemas"]["Author"];
            comment_id: components["schemas"]["CommentId"] | null;
            /** @description The text as it was typed. */
            content: string;
            /** @description Its id. */
            id: components["schemas"]["RefusedTextId"];
            /** @description What it was to be. */
            kind: components["schemas"]["RefusedTextKind"];
            /** @description Members that a new comment mentions. */
            mentions: components["schemas"]["MemberId"][];
            parent_id: components["schemas"]["CommentId"] | null;
            /** @description The subject. */
            subject: components["schemas"]["SubjectRef"];
            /** @description Who may see a new comment. */
            visibility: components["schemas"]["Visibility"];
            /** @description Why it was refused: the categories of the words. */
            why: components["schemas"]["ReviewReason"][];
        };
        /** @description A number from 1 to 9223372036854775807 in decimal digits, without sign or leading zeros. It is a string, because it may be larger than a JavaScript number can hold. */
        RefusedTextId: string;
        /**
         * @description What was refused.
         * @enum {string}
         */
        RefusedTextKind: "post" | "edit";
        /** @description A page of the refused texts, newest first. */
        RefusedTextPage: {
            /** @description The texts. */
            data: components["schemas"]["RefusedText"][];
            /** @description Its place in the list. */
            page: components["schemas"]["ListPageInfo"];
        };
        /** @description A removed comment. */
        RemovedComment: {
            /** @description The comment. */
            id: components["schemas"]["CommentId"];
        };
        /** @description A text that an edit replaced. */
        ReplacedText: {
            /** @description The text. */
            content: string;
            /**
             * Format: int64
             * @description When it was replaced, Unix milliseconds.
             */
            replaced_at: number;
        };
        /** @description A report of a reader. */
        Report: {
            /**
             * Format: int64
             * @description When, in Unix milliseconds.
             */
            at: number;
            /** @description Who reported. */
            member: components["schemas"]["MemberRef"];
            /** @description What the reader wrote. */
            note: string | null;
            /** @description Why. */
            reason: components["schemas"]["ReportReason"];
        };
        /** @description The reports of a comment, the newest first. */
        ReportPage: {
            /** @description The reports. */
            data: components["schemas"]["Report"][];
            /** @description All that are answered are on one page. */
            page: components["schemas"]["ListPageInfo"];
        };
        /**
         * @description Why a reader reports a comment.
         * @enum {string}
         */
        ReportReason: "spam" | "abuse" | "illegal" | "other";
        /** @description A reader's report. */
        ReportRequest: {
            /** @description What a moderator should know; no control characters. */
            note?: string | null;
            /** @description Why. */
            reason: components["schemas"]["ReportReason"];
        };
        /** @description Why a comment is in the review queue. */
        ReviewReason: {
            /**
             * Format: int64
             * @description How often: the number of reports, and 1 for everything else.
             */
            count: number;
            /** @description See [`ReviewReasonKind`]. */
            detail: string;
            /** @description What put it there. */
            kind: components["schemas"]["ReviewReasonKind"];
        };
        /**
         * @description What put a comment into the review queue.
         * @enum {string}
         */
        ReviewReasonKind: "word" | "report" | "rule" | "classifier";
        /**
         * @description What a member may do beyond writing comments.
         * @enum {string}
         */
        Role: "member" | "moderator" | "admin";
        /** @description Settings to change. */
        SettingsPatch: {
            /** @description `degrade.*` */
            degrade?: {
                [key: string]: unknown;
            } | null;
            /** @description `limits.*` */
            limits?: {
                [key: string]: unknown;
            } | null;
            /** @description `names.*`, as the configuration has them. */
            names?: {
                [key: string]: unknown;
            } | null;
            /** @description `rules.*` */
            rules?: {
                [key: string]: unknown;
            } | null;
            /** @description Sites that may write, unless the subject type says otherwise. */
            sites?: string[] | null;
            /** @description `tokens.*` */
            tokens?: {
                [key: string]: unknown;
            } | null;
        };
        /** @description What a page exchanges for a session of its own. */
        SignInCode: {
            /** @description The code of the window, or of the address. */
            code: string;
        };
        /** @description A way to sign in. */
        SignInProvider: {
            /** @description What it is called in addresses. */
            id: string;
            /** @description How it is spoken to. */
            kind: components["schemas"]["ProviderKind"];
            /** @description What readers know it by. */
            name: string;
        };
        /** @description The ways to sign in; none where the host signs tokens. */
        SignInProviders: {
            /** @description In the order of the configuration, mail first. */
            data: components["schemas"]["SignInProvider"][];
        };
        /** @description Slots with times of their own. A page that shows only comments of these may be judged by them; a comment's id has its slot. */
        SlotsAhead: {
            /**
             * Format: int64
             * @description The document's `behind`, for these slots.
             */
            behind: number;
            /**
             * Format: int64
             * @description The document's `now`, for these slots.
             */
            now: number;
            /**
             * Format: int64
             * @description The document's `since`, for these slots.
             */
            since: number;
            /** @description The slots, as ranges `[first, last]` in ascending order. */
            slots: number[][];
        };
        /**
         * @description An order of a list.
         * @enum {string}
         */
        Sort: "hot" | "new" | "old" | "top" | "best" | "replies" | "controversial";
        /**
         * @description A role that may moderate.
         * @enum {string}
         */
        StaffRole: "moderator" | "admin";
        /** @description What is commented on. A subject without comments is answered as an empty one. */
        Subject: {
            /**
             * Format: int64
             * @description Visible comments.
             */
            comments: number;
            /** @description Whether readers may see the earlier texts of edited comments; left out where they may not. */
            earlier_texts?: boolean;
            /** @description The host's key. */
            key: components["schemas"]["SubjectKeyText"];
            /** @description How its threads are built. */
            mode: components["schemas"]["Mode"];
            owner_id: components["schemas"]["MemberId"] | null;
            /** @description Pinned comments, in the order to show them. They keep their place in the lists as well. */
            pinned: components["schemas"]["Comment"][];
            /**
             * Format: int64
             * @description Visible roots.
             */
            roots: number;
            /** @description Whether it takes comments. */
            state: components["schemas"]["SubjectState"];
            /** @description Its title, as the host registered it. */
            title: string | null;
            /** @description The configured type. */
            type: components["schemas"]["SubjectTypeName"];
            /** @description Its address, as the host registered it. */
            url: string | null;
        };
        /** @description New values of a subject. A field that is left out stays as it is; `null` removes its value. */
        SubjectChanges: {
            /** @description How its threads are built. */
            mode?: components["schemas"]["Mode"];
            /**
             * @description Another address of the page, `type/key` of the same type, which has the comments of this one from now on; both have
             *     them. It must have none of its own. `null`: no other address has them any more.
             */
            moved_to?: string | null;
            owner_id?: components["schemas"]["MemberId"] | null;
            /** @description Whether the subject takes comments. */
            state?: components["schemas"]["SubjectState"];
            /** @description Its title; no control characters. */
            title?: string | null;
            /** @description Its address; no control characters. */
            url?: string | null;
        };
        /** @description A subject's counts. */
        SubjectCounts: {
            /**
             * Format: int64
             * @description Visible comments.
             */
            comments: number;
            /**
             * Format: int64
             * @description Visible roots.
             */
            roots: number;
        };
        /** @description The host's key: 1 to 512 bytes of UTF-8 without control characters. */
        SubjectKeyText: string;
        /** @description The subject a comment belongs to. */
        SubjectRef: {
            /** @description The host's key. */
            key: components["schemas"]["SubjectKeyText"];
            /** @description In lists of the newest comments and in what webhooks receive: its title, as the host registered it. */
            title?: string | null;
            /** @description The configured type. */
            type: components["schemas"]["SubjectTypeName"];
            /** @description In lists of the newest comments and in what webhooks receive: its address, as the host registered it. */
            url?: string | null;
        };
        /**
         * @description Whether a subject takes comments.
         * @enum {string}
         */
        SubjectState: "open" | "closed" | "hidden";
        /** @description A configured name. The embedded default has `article` (`tree`, three levels), `video` (`two_level`), `post` (`flat`) and `topic` (`building`). */
        SubjectTypeName: string;
        /** @description A subject's version, in decimal digits. It grows by one with each commit that changes the subject. */
        SubjectVersion: string;
        /** @description One entry of a dictionary, as an operator writes it. */
        Term: {
            /** @description What happens to a text with it. */
            action: components["schemas"]["TermAction"];
            /** @description Why it is listed, such as `ad`; 1 to [`MAX_CATEGORY_BYTES`] bytes. */
            category: string;
            /** @description The text to find; 1 to [`MAX_TERM_BYTES`] bytes. */
            term: string;
        };
        /**
         * @description What happens to a text with a term. Ordered by severity.
         * @enum {string}
         */
        TermAction: "mask" | "review" | "block";
        /** @description A comment with a term. */
        TermMatch: {
            /** @description Its text. */
            content: string;
            /** @description The comment. */
            id: components["schemas"]["CommentId"];
        };
        /** @description Which of the newest comments a term is found in. */
        TermMatches: {
            /**
             * Format: int64
             * @description How many they are.
             */
            count: number;
            /** @description The newest of them. */
            data: components["schemas"]["TermMatch"][];
        };
        /** @description A term to try. */
        TermTest: {
            /** @description The text of the term. */
            term: string;
        };
        /** @description Terms to add and to remove. */
        TermsChange: {
            /** @description Terms to add, in place of those with the same text. */
            add?: components["schemas"]["Term"][];
            /** @description The texts of terms to remove; one that is not there is no error. */
            remove?: string[];
        };
        /** @description All terms of the word filter. */
        TermsReplacement: {
            /** @description The terms, in place of all that are there. */
            data: components["schemas"]["Term"][];
        };
        /** @description What a tree leaves out below a comment. */
        TreeMore: {
            /**
             * Format: int64
             * @description Visible comments left out.
             */
            count: number;
            /** @description For the tree call of that comment. */
            cursor: string;
        };
        /** @description A widget of Cloudflare Turnstile. The answer is the token that the widget gives. */
        TurnstileChallenge: {
            /** @description The `sitekey` of the widget. */
            sitekey: string;
        };
        /** @description A picture to upload. */
        UploadForm: {
            /** @description What it shows, for who does not see it. */
            alt?: string;
            /**
             * Format: binary
             * @description A JPEG, PNG, GIF or WebP of at most 5 MiB and 24 million pixels.
             */
            file: string;
        };
        /**
         * @description The readers of a published comment.
         * @enum {string}
         */
        Visibility: "everyone" | "self";
        /** @description A subject's number in cache tags, and the version before which its comments are void. */
        VoidSubject: string[];
        /** @description A page of what a member watches, the latest first. */
        WatchPage: {
            /** @description What they watch. */
            data: components["schemas"]["WatchedThread"][];
            /** @description Its place in the list. */
            page: components["schemas"]["ListPageInfo"];
        };
        /** @description Whether a member watches a subject. */
        WatchState: {
            /** @description Whether they do. */
            watching: boolean;
        };
        /** @description A subject that a member watches. */
        WatchedThread: {
            /**
             * Format: int64
             * @description Since when they watch it, in Unix milliseconds.
             */
            created_at: number;
            /** @description The host's key of it. */
            key: string;
            /** @description Its title; `null` where it has none, or is hidden. */
            title: string | null;
            /** @description What kind of thing it is. */
            type: string;
            /** @description The address of its page; `null` where it has none, or is hidden. */
            url: string | null;
        };
        /** @description An address to which events are sent. */
        Webhook: {
            /**
             * Format: int64
             * @description When it was made, in Unix milliseconds.
             */
            created_at: number;
            /**
             * Format: int64
             * @description How many events were left out because too many were waiting.
             */
            dropped: number;
            /** @description What is sent to it. */
            events: components["schemas"]["WebhookEvent"][];
            /**
             * Format: int64
             * @description Since when no try was a success, in Unix milliseconds; `null` after one.
             */
            failing_since: number | null;
            /** @description Its id. */
            id: components["schemas"]["WebhookId"];
            /** @description What signs its deliveries: only in the answer of the call that made it. */
            secret?: string;
            template: components["schemas"]["WebhookTemplate"] | null;
            /** @description The address. */
            url: string;
        };
        /** @description An event that is sent to one webhook. */
        WebhookDelivery: {
            /**
             * Format: int32
             * @description How often it was tried.
             */
            attempts: number;
            /**
             * Format: int64
             * @description When it was made, in Unix milliseconds.
             */
            created_at: number;
            /** @description The event. */
            event: components["schemas"]["WebhookEvent"];
            /** @description Its id, which is the header `webhook-id` of every try. */
            id: string;
            /**
             * Format: int32
             * @description The status of the last answer; `null` where there was none.
             */
            last_status: number | null;
            /**
             * Format: int64
             * @description When it is tried next, in Unix milliseconds; `null` where it is not.
             */
            next_at: number | null;
            /** @description What became of it. */
            status: components["schemas"]["WebhookDeliveryStatus"];
        };
        /** @description A page of the deliveries of a webhook, the newest first. */
        WebhookDeliveryPage: {
            /** @description The deliveries. */
            data: components["schemas"]["WebhookDelivery"][];
            /** @description Its place in the list. */
            page: components["schemas"]["ListPageInfo"];
        };
        /**
         * @description What became of a delivery.
         * @enum {string}
         */
        WebhookDeliveryStatus: "pending" | "delivered" | "failed";
        /**
         * @description What is sent to webhooks.
         * @enum {string}
         */
        WebhookEvent: "comment.created" | "comment.held" | "comment.reported" | "comment.decided";
        /** @description A number from 1 to 9223372036854775807 in decimal digits, without sign or leading zeros. It is a string, because it may be larger than a JavaScript number can hold. */
        WebhookId: string;
        /** @description All webhooks, in the order in which they were made. */
        WebhookList: {
            /** @description The webhooks. */
            data: components["schemas"]["Webhook"][];
        };
        /** @description A webhook to be. */
        WebhookRequest: {
            /** @description What is sent to it. */
            events: components["schemas"]["WebhookEvent"][];
            template?: components["schemas"]["WebhookTemplate"] | null;
            /** @description The address. */
            url: string;
        };
        /**
         * @description Chat services whose own form is sent instead of the event's JSON.
         * @enum {string}
         */
        WebhookTemplate: "slack" | "telegram" | "lark" | "dingtalk" | "discord";
    };
    responses: {
        /** @description A field, parameter, id, sort, limit, key or cursor is wrong. `invalid_request` names each of them in `errors`. */
        BadRequest: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "invalid_request",
                 *       "detail": "this field is wrong: limit",
                 *       "errors": [
                 *         {
                 *           "detail": "must be a whole number from 1 to 100",
                 *           "field": "limit"
                 *         }
                 *       ],
                 *       "status": 400,
                 *       "title": "Bad Request",
                 *       "trace_id": "3f9c5a1e7b20d864",
                 *       "type": "/problems/invalid_request"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @enum {string} */
                    code?: "invalid_request" | "bad_cursor";
                    /** @enum {integer} */
                    status?: 400;
                };
            };
        };
        /** @description The body is larger than 64 KiB. */
        BodyTooLarge: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "body_too_large",
                 *       "detail": "a body has at most 65536 bytes",
                 *       "status": 413,
                 *       "title": "Content Too Large",
                 *       "trace_id": "3f9c5a1e7b20d864",
                 *       "type": "/problems/body_too_large"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @enum {string} */
                    code?: "body_too_large";
                    /** @enum {integer} */
                    status?: 413;
                };
            };
        };
        /** @description It is too late for this: the subject is closed, the comment is too old to be edited, or something has changed since. */
        Conflict: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "subject_closed",
                 *       "detail": "this subject takes no comments",
                 *       "status": 409,
                 *       "title": "Conflict",
                 *       "trace_id": "3f9c5a1e7b20d864",
                 *       "type": "/problems/subject_closed"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @enum {string} */
                    code?: "subject_closed" | "edit_window_over" | "version_conflict";
                    /** @enum {integer} */
                    status?: 409;
                };
            };
        };
        /** @description This member may not do this, or requests must come through the edge. With `challenge_required`, a guest may after the answer to `challenge`. */
        Forbidden: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "forbidden",
                 *       "detail": "your role does not allow this",
                 *       "status": 403,
                 *       "title": "Forbidden",
                 *       "trace_id": "3f9c5a1e7b20d864",
                 *       "type": "/problems/forbidden"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @enum {string} */
                    code?: "forbidden" | "muted" | "level_too_low" | "guests_not_allowed" | "site_not_allowed" | "challenge_required";
                    /** @enum {integer} */
                    status?: 403;
                };
            };
        };
        /** @description The snapshot that the cursor walks has expired. Start again with `Cache-Control: no-cache`. */
        Gone: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "cursor_expired",
                 *       "detail": "this walk is over; begin again at the first page",
                 *       "status": 410,
                 *       "title": "Gone",
                 *       "trace_id": "3f9c5a1e7b20d864",
                 *       "type": "/problems/cursor_expired"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @enum {string} */
                    code?: "cursor_expired";
                    /** @enum {integer} */
                    status?: 410;
                };
            };
        };
        /** @description A bug of the server. */
        Internal: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "internal",
                 *       "detail": "something went wrong here; this is not your fault",
                 *       "status": 500,
                 *       "title": "Internal Server Error",
                 *       "trace_id": "3f9c5a1e7b20d864",
                 *       "type": "/problems/internal"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @enum {string} */
                    code?: "internal";
                    /** @enum {integer} */
                    status?: 500;
                };
            };
        };
        /** @description The name cannot be seen, deceives, has words that are not allowed here, or is taken: a member of the last 30 days or a reserved one has it, or one that looks like it. */
        NameRejected: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "content_rejected",
                 *       "detail": "this name cannot be taken: it is taken, or looks like one that is; choose another",
                 *       "errors": [
                 *         {
                 *           "detail": "is taken, or looks like one that is; choose another",
                 *           "field": "name"
                 *         }
                 *       ],
                 *       "status": 422,
                 *       "title": "Unprocessable Content",
                 *       "trace_id": "3f9c5a1e7b20d864",
                 *       "type": "/problems/content_rejected"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @enum {string} */
                    code?: "content_rejected";
                    /** @enum {integer} */
                    status?: 422;
                };
            };
        };
        /** @description It does not exist, or this reader may not see it. */
        NotFound: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "comment_not_found",
                 *       "detail": "there is no such comment",
                 *       "status": 404,
                 *       "title": "Not Found",
                 *       "trace_id": "3f9c5a1e7b20d864",
                 *       "type": "/problems/comment_not_found"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @enum {string} */
                    code?: "comment_not_found" | "unknown_subject_type" | "parent_not_found" | "not_found";
                    /** @enum {integer} */
                    status?: 404;
                };
            };
        };
        /** @description The answer that `If-None-Match` names is still current. */
        NotModified: {
            headers: {
                "CDN-Cache-Control": components["headers"]["CDN-Cache-Control"];
                "Cache-Control": components["headers"]["Cache-Control"];
                ETag: components["headers"]["ETag"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content?: never;
        };
        /** @description There were too many requests. */
        TooManyRequests: {
            headers: {
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                "Retry-After": components["headers"]["Retry-After"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "rate_limited",
                 *       "detail": "too many requests; try again in 12 s",
                 *       "status": 429,
                 *       "title": "Too Many Requests",
                 *       "trace_id": "3f9c5a1e7b20d864",
                 *       "type": "/problems/rate_limited"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @enum {string} */
                    code?: "rate_limited";
                    /** @enum {integer} */
                    status?: 429;
                };
            };
        };
        /** @description There is no token, or one that is not valid here. */
        Unauthorized: {
            headers: {
                "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "token_missing",
                 *       "detail": "send a token: Authorization: Bearer …",
                 *       "status": 401,
                 *       "title": "Unauthorized",
                 *       "trace_id": "3f9c5a1e7b20d864",
                 *       "type": "/problems/token_missing"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @enum {string} */
                    code?: "token_missing" | "token_invalid";
                    /** @enum {integer} */
                    status?: 401;
                };
            };
        };
        /** @description Try again later. The outcome of a write is unknown: send it again with the same `Idempotency-Key`. */
        Unavailable: {
            headers: {
                "Retry-After": components["headers"]["Retry-After"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "unavailable",
                 *       "detail": "the database does not answer",
                 *       "status": 503,
                 *       "title": "Service Unavailable",
                 *       "trace_id": "3f9c5a1e7b20d864",
                 *       "type": "/problems/unavailable"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @enum {string} */
                    code?: "unavailable" | "overloaded" | "origin_unreachable";
                    /** @enum {integer} */
                    status?: 503;
                };
            };
        };
        /** @description The text has words that are not allowed here (`errors` names their categories, never the words), or the `Idempotency-Key` was used for another request. */
        Unprocessable: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "content_rejected",
                 *       "detail": "the comment contains words that are not allowed here: abuse",
                 *       "errors": [
                 *         {
                 *           "detail": "abuse",
                 *           "field": "content"
                 *         }
                 *       ],
                 *       "status": 422,
                 *       "title": "Unprocessable Content",
                 *       "trace_id": "3f9c5a1e7b20d864",
                 *       "type": "/problems/content_rejected"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @enum {string} */
                    code?: "content_rejected" | "idempotency_mismatch";
                    /** @enum {integer} */
                    status?: 422;
                };
            };
        };
        /** @description The body is not `application/json`. */
        UnsupportedMediaType: {
            headers: {
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "code": "unsupported_media_type",
                 *       "detail": "send application/json",
                 *       "status": 415,
                 *       "title": "Unsupported Media Type",
                 *       "trace_id": "3f9c5a1e7b20d864",
                 *       "type": "/problems/unsupported_media_type"
                 *     }
                 */
                "application/problem+json": components["schemas"]["Problem"] & {
                    /** @enum {string} */
                    code?: "unsupported_media_type";
                    /** @enum {integer} */
                    status?: 415;
                };
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: {
        /** @description For the caches between the origin and browsers. */
        "CDN-Cache-Control": string;
        /** @description For browsers: keep the answer, revalidate it before each use. */
        "Cache-Control": string;
        /** @description A strong validator of the answer. */
        ETag: string;
        /** @description `true` when an earlier request with the same key made the comment. */
        "Idempotent-Replayed": "true";
        /** @description What remains of the limit: `"name";r=COUNT;t=SECONDS`. */
        RateLimit: string;
        /** @description The limit: `"name";q=COUNT;w=SECONDS`. */
        "RateLimit-Policy": string;
        /** @description Seconds to wait before the next attempt. */
        "Retry-After": number;
        /** @description How to authenticate. */
        "WWW-Authenticate": "Bearer";
        /** @description The request's id, as in the logs. */
        "X-Request-Id": string;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    get_health: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The process is alive. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HealthStatus"];
                };
            };
        };
    };
    get_metrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Text format 0.0.4, of this process alone. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
        };
    };
    get_openapi: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description An OpenAPI 3.1 document. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    get_readiness: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Comments can be read; `degraded` when a dependency fails, or writes are not stored. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Readiness"];
                };
            };
            /** @description No comments can be read; `dependencies` names what is missing. */
            503: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Readiness"];
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    get_html: {
        parameters: {
            query?: {
                /** @description `1`: without the document around the comments. */
                fragment?: "0" | "1";
                /** @description The language of the page; by `Accept-Language` where it is left out. */
                lang?: "en" | "zh" | "zh-TW" | "ja" | "ko" | "de" | "fr" | "es" | "pt-BR" | "ru" | "ar" | "he";
                /** @description The page of this comment: its building, and its replies. */
                comment?: string;
                /** @description The order of the list. A cursor has a sort of its own; another one beside it is `bad_cursor`. */
                sort?: "hot" | "new" | "old" | "top" | "best" | "replies" | "controversial";
                /** @description Most comments in the answer. */
                limit?: number;
                /** @description `page.next` of the page before. */
                cursor?: string;
            };
            header?: {
                /** @description The `ETag` of an earlier answer. */
                "If-None-Match"?: string;
            };
            path: {
                /**
                 * @description What kind of thing is commented on.
                 * @example video
                 */
                type: string;
                /**
                 * @description The host's key of it, percent-encoded.
                 * @example 2
                 */
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The page, readable without JavaScript. */
            200: {
                headers: {
                    "CDN-Cache-Control": components["headers"]["CDN-Cache-Control"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    /** @description Allows no script, and only the page's own styles. */
                    "Content-Security-Policy"?: string;
                    ETag: components["headers"]["ETag"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            304: components["responses"]["NotModified"];
            400: components["responses"]["BadRequest"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    list_audit: {
        parameters: {
            query?: {
                /** @description Entries of this member alone. */
                actor?: string;
                /** @description Entries with this verb alone. */
                action?: string;
                /** @description Most comments in the answer. */
                limit?: number;
                /** @description `page.next` of the page before. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of the log. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    undo: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The entry of the audit log.
                 * @example 3159632956621393920
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The comment as it was before. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Comment"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    search_comments: {
        parameters: {
            query?: {
                /** @description What the comments contain. */
                q?: string;
                /**
                 * @description Comments of this subject alone: `type/key`.
                 * @example video/2
                 */
                subject?: string;
                /** @description Comments of this author alone. */
                member?: string;
                /** @description Comments of this state alone. */
                state?: "published" | "review" | "rejected" | "hidden" | "deleted";
                /** @description Written at this time or later, in Unix milliseconds. */
                from?: number;
                /** @description Written before this time, in Unix milliseconds. */
                to?: number;
                /** @description Comments alone that readers have reported, among the newest 10,000 of `member`. */
                reported?: "true";
                /** @description Most comments in the answer. */
                limit?: number;
                /** @description `page.next` of the page before. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The page. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HistoryPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    read_comment: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The comment.
                 * @example 3159632956621393920
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The comment. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Comment"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    block_network: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The comment.
                 * @example 3159632956621393920
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Until when it is blocked. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NetworkBlock"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    decide: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The comment.
                 * @example 3159632956621393920
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CommentDecision"];
            };
        };
        responses: {
            /** @description The comment after the decision. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Comment"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    list_history: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The comment.
                 * @example 3159632956621393920
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The earlier texts. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FormerTextPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    list_reports: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The comment.
                 * @example 3159632956621393920
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The reports. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReportPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    decide_all: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BulkDecision"];
            };
        };
        responses: {
            /** @description What became of each. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DecisionOutcomes"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    export_comments: {
        parameters: {
            query?: {
                /**
                 * @description The comments of this subject alone: `type/key`.
                 * @example video/2
                 */
                subject?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The lines. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    import_comments: {
        parameters: {
            query?: {
                /** @description `1`: all lines or none. */
                strict?: "0" | "1";
                /** @description The system that the body is an export of. */
                from?: "disqus" | "wordpress" | "remark42" | "artalk" | "waline" | "isso" | "twikoo" | "commento" | "discussions" | "discourse";
                /** @description With `from`: the type of the pages' subjects, else `article`. */
                type?: string;
                /** @description With `from`: the site of pages that are exported as paths. */
                site?: string;
                /** @description With `from`: `1` imports what waits for approval, to wait here, too. */
                held?: "0" | "1";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/x-ndjson": string;
            };
        };
        responses: {
            /** @description What is done, line by line. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": components["schemas"]["ImportLineAnswer"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /** @description The body is larger than 64 MiB. */
            413: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    list_members: {
        parameters: {
            query?: {
                /** @description The beginning of a name, or an id. */
                q?: string;
                /** @description `1`: only those who are muted; not together with `q`. */
                muted?: "0" | "1";
                /** @description Most comments in the answer. */
                limit?: number;
                /** @description `page.next` of the page before. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of members. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ModeratedMemberPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    get_member: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The member.
                 * @example 7
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The member. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ModeratedMember"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    put_member: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The member.
                 * @example 7
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MemberChanges"];
            };
        };
        responses: {
            /** @description The member after the change. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ModeratedMember"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    erase_member: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The member.
                 * @example 7
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The member is erased. */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    get_queue: {
        parameters: {
            query?: {
                /** @description The part of the queue; both where it is left out. */
                kind?: "held" | "reported";
                /** @description Most comments in the answer. */
                limit?: number;
                /** @description `page.next` of the page before. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of the queue. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueuePage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    lease: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["QueueLease"];
            };
        };
        responses: {
            /** @description Those that this moderator has now. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LeasedComments"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    list_rejected: {
        parameters: {
            query?: {
                /** @description What the text, the name of its author or a category has, in any case. */
                q?: string;
                /** @description Most comments in the answer. */
                limit?: number;
                /** @description `page.next` of the page before. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of the texts. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RefusedTextPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    drop_rejected: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The refused text.
                 * @example 3159632956621393920
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The text is deleted. */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    accept_rejected: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The refused text.
                 * @example 3159632956621393920
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The comment. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Comment"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    read_settings: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The settings. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AdminSettings"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    change_settings: {
        parameters: {
            query?: never;
            header?: {
                /** @description The version that is changed, in quotes or without; after another change the answer is `409`. */
                "If-Match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SettingsPatch"];
            };
        };
        responses: {
            /** @description The settings after the call. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AdminSettings"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    read_stats: {
        parameters: {
            query?: {
                /** @description The answer begins with the step of this time, in Unix milliseconds. Left out: 60 minutes, 24 hours or 30 days to `to`. */
                from?: number;
                /** @description And ends before this time. Left out: now. */
                to?: number;
                /** @description How long each point is. */
                step?: "minute" | "hour" | "day";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The numbers, the oldest first. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ActivitySeries"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    list_subjects: {
        parameters: {
            query?: {
                /** @description What `type/key` or the title contains, in any case. */
                q?: string;
                /** @description Subjects of this state alone. */
                state?: "open" | "closed" | "hidden";
                /** @description Most comments in the answer. */
                limit?: number;
                /** @description `page.next` of the page before. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of subjects. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ModeratedSubjectPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    put_subject: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description What kind of thing is commented on.
                 * @example video
                 */
                type: string;
                /**
                 * @description The host's key of it, percent-encoded.
                 * @example 2
                 */
                key: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SubjectChanges"];
            };
        };
        responses: {
            /** @description The subject after the change. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Subject"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    list_webhooks: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The webhooks. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    add_webhook: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WebhookRequest"];
            };
        };
        responses: {
            /** @description The webhook with its secret. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Webhook"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    remove_webhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The webhook.
                 * @example 3159632956621393920
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The webhook is removed. */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    list_deliveries: {
        parameters: {
            query?: {
                /** @description Most comments in the answer. */
                limit?: number;
                /** @description `page.next` of the page before. */
                cursor?: string;
            };
            header?: never;
            path: {
                /**
                 * @description The webhook.
                 * @example 3159632956621393920
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of the deliveries. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDeliveryPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    retry_delivery: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The webhook.
                 * @example 3159632956621393920
                 */
                id: string;
                /**
                 * @description The delivery.
                 * @example msg_5f2c8d0e1a3b4c6d7e8f9a0b1c2d3e4f
                 */
                delivery: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The delivery, pending. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDelivery"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    list_words: {
        parameters: {
            query?: {
                /** @description `page.next` of the page before. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of the terms. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DictionaryPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    put_words: {
        parameters: {
            query?: never;
            header?: {
                /** @description The version that is changed, in quotes or without; after another change the answer is `409`. */
                "If-Match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TermsReplacement"];
            };
        };
        responses: {
            /** @description The dictionary after the call. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DictionaryVersion"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    patch_words: {
        parameters: {
            query?: never;
            header?: {
                /** @description The version that is changed, in quotes or without; after another change the answer is `409`. */
                "If-Match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TermsChange"];
            };
        };
        responses: {
            /** @description The dictionary after the call. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DictionaryVersion"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    test_word: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TermTest"];
            };
        };
        responses: {
            /** @description The comments. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TermMatches"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    mail_link: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MailedLinkRequest"];
            };
        };
        responses: {
            /** @description A mail is sent; its link is good once, for 15 minutes. */
            202: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    list_passkeys: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The passkeys. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PasskeyList"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    add_passkey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewPasskey"];
            };
        };
        responses: {
            /** @description The passkey. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Passkey"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    begin_sign_in: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What the browser asks for. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PasskeyChallenge"];
                };
            };
            400: components["responses"]["BadRequest"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    begin_registration: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What the browser asks for. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PasskeyChallenge"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    sign_in_with_passkey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PasskeyAnswer"];
            };
        };
        responses: {
            /** @description A token for 15 minutes. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AccessToken"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    remove_passkey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The passkey.
                 * @example 3159632956621393920
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The passkey is removed. */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    rename_passkey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The passkey.
                 * @example 3159632956621393920
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PasskeyName"];
            };
        };
        responses: {
            /** @description The passkey. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Passkey"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    list_providers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The providers. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignInProviders"];
                };
            };
            400: components["responses"]["BadRequest"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    refresh_token: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RefreshRequest"] | null;
            };
        };
        responses: {
            /** @description A token for 15 minutes. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AccessToken"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    begin_session: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SignInCode"];
            };
        };
        responses: {
            /** @description A token for 15 minutes. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AccessToken"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    end_session: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RefreshRequest"] | null;
            };
        };
        responses: {
            /** @description Signed out, or was not signed in. */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            403: components["responses"]["Forbidden"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    go_to_provider: {
        parameters: {
            query: {
                /** @description The origin of the page that gets the token. */
                site: string;
            };
            header?: never;
            path: {
                /** @description The provider's `id`. */
                provider: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description To the provider. */
            302: {
                headers: {
                    /** @description The provider's address. */
                    Location?: string;
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    come_back: {
        parameters: {
            query?: {
                /** @description What the provider has given. */
                code?: string;
                /** @description What the provider was given. */
                state?: string;
                /** @description What is secret in a mail. */
                token?: string;
            };
            header?: never;
            path: {
                /** @description The provider's `id`, or `email`. */
                provider: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The page. */
            200: {
                headers: {
                    /** @description Allows the page's own script and style alone. */
                    "Content-Security-Policy"?: string;
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description To the console, for the administrator. */
            302: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A page that says why it did not work. */
            400: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
        };
    };
    open_mailed_link: {
        parameters: {
            query?: {
                /** @description What is secret in the mail. */
                token?: string;
            };
            header?: never;
            path: {
                /** @description `email`. */
                provider: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The page. */
            200: {
                headers: {
                    /** @description Allows the page's own script and style alone. */
                    "Content-Security-Policy"?: string;
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description A page that says why it did not work. */
            400: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
        };
    };
    get_avatar: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The SHA-256 (64 digits) or the MD5 (32 digits) of the address, in lower case. */
                hash: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The picture; `Cache-Control` says for how long. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "image/jpeg": components["schemas"]["PictureFile"];
                    "image/png": components["schemas"]["PictureFile"];
                    "image/svg+xml": components["schemas"]["PictureFile"];
                };
            };
            400: components["responses"]["BadRequest"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    get_named_avatar: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description What proves that this installation has named the address. */
                signature: string;
                /** @description The address, in base64url. */
                address: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The picture; `Cache-Control` says for how long. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "image/jpeg": components["schemas"]["PictureFile"];
                    "image/png": components["schemas"]["PictureFile"];
                    "image/svg+xml": components["schemas"]["PictureFile"];
                };
            };
            400: components["responses"]["BadRequest"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    get_comment: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` of an earlier answer. */
                "If-None-Match"?: string;
            };
            path: {
                /**
                 * @description The comment.
                 * @example 3159632956621393920
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The comment; its tombstone when it is deleted. */
            200: {
                headers: {
                    "CDN-Cache-Control": components["headers"]["CDN-Cache-Control"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    ETag: components["headers"]["ETag"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Comment"];
                };
            };
            304: components["responses"]["NotModified"];
            400: components["responses"]["BadRequest"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    delete_comment: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The comment.
                 * @example 3159632956621393920
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The comment is deleted, by this call or an earlier one. */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    edit_comment: {
        parameters: {
            query?: never;
            header?: {
                /** @description The answer to the `challenge` of a `403 challenge_required`: ALTCHA's payload in base64, or Turnstile's token. It counts once. */
                "X-Gailou-Challenge"?: string;
                /** @description With any value nothing is written: a text that the word filter refuses is kept for moderators and answered `422 content_rejected`, every other one `409 version_conflict`. */
                "X-Gailou-Refused"?: string;
            };
            path: {
                /**
                 * @description The comment.
                 * @example 3159632956621393920
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CommentEdit"];
            };
        };
        responses: {
            /** @description The comment after the edit. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Comment"];
                };
            };
            /** @description The edit waits for a moderator: the comment with the new text. Readers see the former one. */
            202: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Comment"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    list_ancestors: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` of an earlier answer. */
                "If-None-Match"?: string;
            };
            path: {
                /**
                 * @description The comment.
                 * @example 3159632956621393920
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The root first, the comment last. */
            200: {
                headers: {
                    "CDN-Cache-Control": components["headers"]["CDN-Cache-Control"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    ETag: components["headers"]["ETag"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["CommentChain"];
                    };
                };
            };
            304: components["responses"]["NotModified"];
            400: components["responses"]["BadRequest"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    get_context: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` of an earlier answer. */
                "If-None-Match"?: string;
            };
            path: {
                /**
                 * @description The comment.
                 * @example 3159632956621393920
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The comment with what surrounds it. */
            200: {
                headers: {
                    "CDN-Cache-Control": components["headers"]["CDN-Cache-Control"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    ETag: components["headers"]["ETag"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["CommentContext"];
                    };
                };
            };
            304: components["responses"]["NotModified"];
            400: components["responses"]["BadRequest"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    put_dislike: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The comment.
                 * @example 3159632956621393920
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The comment's counts after the call. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReactionResult"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    delete_dislike: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The comment.
                 * @example 3159632956621393920
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The comment's counts after the call. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReactionResult"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    list_shown_texts: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The comment.
                 * @example 3159632956621393920
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The earlier texts. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FormerTextPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    put_like: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The comment.
                 * @example 3159632956621393920
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The comment's counts after the call. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReactionResult"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    delete_like: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The comment.
                 * @example 3159632956621393920
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The comment's counts after the call. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReactionResult"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    pin_comment: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The comment.
                 * @example 3159632956621393920
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The comment after the call. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Comment"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    unpin_comment: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The comment.
                 * @example 3159632956621393920
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The comment after the call. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Comment"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    list_replies: {
        parameters: {
            query?: {
                /** @description The order of the list. A cursor has a sort of its own; another one beside it is `bad_cursor`. */
                sort?: "hot" | "old" | "new";
                /** @description Most comments in the answer. */
                limit?: number;
                /** @description `page.next` of the page before. */
                cursor?: string;
            };
            header?: {
                /** @description The `ETag` of an earlier answer. */
                "If-None-Match"?: string;
            };
            path: {
                /**
                 * @description The comment.
                 * @example 3159632956621393920
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The page. */
            200: {
                headers: {
                    "CDN-Cache-Control": components["headers"]["CDN-Cache-Control"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    ETag: components["headers"]["ETag"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CommentPage"];
                };
            };
            304: components["responses"]["NotModified"];
            400: components["responses"]["BadRequest"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    report_comment: {
        parameters: {
            query?: never;
            header?: {
                /** @description The answer to the `challenge` of a `403 challenge_required`: ALTCHA's payload in base64, or Turnstile's token. It counts once. */
                "X-Gailou-Challenge"?: string;
            };
            path: {
                /**
                 * @description The comment.
                 * @example 3159632956621393920
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReportRequest"];
            };
        };
        responses: {
            /** @description The report is stored, by this call or an earlier one. */
            202: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    get_tree: {
        parameters: {
            query?: {
                /** @description Levels below the comment. */
                depth?: number;
                /** @description Most comments in the answer. */
                limit?: number;
                /** @description `more.cursor` of this comment. */
                cursor?: string;
            };
            header?: {
                /** @description The `ETag` of an earlier answer. */
                "If-None-Match"?: string;
            };
            path: {
                /**
                 * @description The comment.
                 * @example 3159632956621393920
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The comment with what is drawn under it. */
            200: {
                headers: {
                    "CDN-Cache-Control": components["headers"]["CDN-Cache-Control"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    ETag: components["headers"]["ETag"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["CommentTree"];
                    };
                };
            };
            304: components["responses"]["NotModified"];
            400: components["responses"]["BadRequest"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    get_counts: {
        parameters: {
            query: {
                /**
                 * @description `type/key`, once for each subject.
                 * @example [
                 *       "video/2"
                 *     ]
                 */
                subject: string[];
            };
            header?: {
                /** @description The `ETag` of an earlier answer. */
                "If-None-Match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The counts by `type/key`. */
            200: {
                headers: {
                    "CDN-Cache-Control": components["headers"]["CDN-Cache-Control"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    ETag: components["headers"]["ETag"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": {
                     *         "video/2": {
                     *           "comments": 2,
                     *           "roots": 1
                     *         }
                     *       }
                     *     }
                     */
                    "application/json": {
                        data: {
                            [key: string]: {
                                /**
                                 * Format: int64
                                 * @description Visible comments.
                                 */
                                comments: number;
                                /**
                                 * Format: int64
                                 * @description Visible roots.
                                 */
                                roots: number;
                            };
                        };
                    };
                };
            };
            304: components["responses"]["NotModified"];
            400: components["responses"]["BadRequest"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    get_changes: {
        parameters: {
            query?: {
                /** @description `1`: everything that is kept; otherwise the last two minutes. */
                day?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The changes. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangeFeedPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            403: components["responses"]["Forbidden"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    create_guest: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewGuest"];
            };
        };
        responses: {
            /** @description The guest, and the token to write with. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GuestCreated"];
                };
            };
            400: components["responses"]["BadRequest"];
            403: components["responses"]["Forbidden"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["NameRejected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    rename_guest: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["GuestChanges"];
            };
        };
        responses: {
            /** @description The guest, and the token to write with from now on. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GuestCreated"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["NameRejected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    list_latest: {
        parameters: {
            query?: {
                /** @description Comments on subjects of this type alone. */
                type?: string;
                /** @description Most comments in the answer. */
                limit?: number;
            };
            header?: {
                /** @description The `ETag` of an earlier answer. */
                "If-None-Match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The newest comments. */
            200: {
                headers: {
                    "CDN-Cache-Control": components["headers"]["CDN-Cache-Control"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    ETag: components["headers"]["ETag"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["Comment"][];
                    };
                };
            };
            304: components["responses"]["NotModified"];
            400: components["responses"]["BadRequest"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    get_latest_feed: {
        parameters: {
            query?: {
                /** @description Comments on subjects of this type alone. */
                type?: string;
            };
            header?: {
                /** @description The `ETag` of an earlier answer. */
                "If-None-Match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The feed. */
            200: {
                headers: {
                    "CDN-Cache-Control": components["headers"]["CDN-Cache-Control"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    ETag: components["headers"]["ETag"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/atom+xml": string;
                };
            };
            304: components["responses"]["NotModified"];
            400: components["responses"]["BadRequest"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    get_profile: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The member. */
            200: {
                headers: {
                    /** @description `private, no-store`: no cache may keep the answer. */
                    "Cache-Control"?: string;
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OwnProfile"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    erase_self: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The member is erased. */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    change_profile: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ProfileChanges"];
            };
        };
        responses: {
            /** @description The member. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OwnProfile"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["NameRejected"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    export_member: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The member's data. */
            200: {
                headers: {
                    /** @description `private, no-store`: no cache may keep the answer. */
                    "Cache-Control"?: string;
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Their comments in every state, oldest first. */
                        comments: components["schemas"]["MemberComment"][];
                        /** @description The member, as the token says. */
                        member: components["schemas"]["ExportedMember"];
                        /** @description What they are notified of, newest first. */
                        notifications: components["schemas"]["MemberNotification"][];
                        /** @description Their reactions. */
                        reactions: components["schemas"]["MemberReaction"][];
                        /** @description Their texts that the word filter refused, for as long as they are kept. */
                        rejected: components["schemas"]["RefusedText"][];
                        /** @description Their reports. */
                        reports: components["schemas"]["MemberReport"][];
                        /** @description What they watch, the latest first. */
                        watches: components["schemas"]["MemberWatch"][];
                    };
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    list_friends_comments: {
        parameters: {
            query: {
                /**
                 * @description `type/key`.
                 * @example video/2
                 */
                subject: string;
                /** @description Most comments in the answer. */
                limit?: number;
                /** @description `page.next` of the page before. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of comments. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HistoryPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    merge_guest: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["GuestMerge"];
            };
        };
        responses: {
            /** @description The member. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OwnProfile"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    list_notifications: {
        parameters: {
            query?: {
                /** @description Most comments in the answer. */
                limit?: number;
                /** @description `page.next` of the page before. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of notifications. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NotificationPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    mark_read: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReadMark"];
            };
        };
        responses: {
            /** @description They are marked. */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    get_overlay: {
        parameters: {
            query?: {
                /** @description Comments, separated by commas. */
                ids?: string[];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The layer by comment id, with the reader's own comments that are in no list. */
            200: {
                headers: {
                    /** @description `private, no-store`: no cache may keep the answer. */
                    "Cache-Control"?: string;
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Overlay"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    list_watches: {
        parameters: {
            query?: {
                /** @description Most comments in the answer. */
                limit?: number;
                /** @description `page.next` of the page before. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of subjects. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WatchPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    upload_media: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "multipart/form-data": components["schemas"]["UploadForm"];
            };
        };
        responses: {
            /** @description The picture, for `media` of a new comment. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Media"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    get_media: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The end of a picture's `url`. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file. It never changes. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "image/jpeg": components["schemas"]["PictureFile"];
                    "image/png": components["schemas"]["PictureFile"];
                };
            };
            400: components["responses"]["BadRequest"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    list_member_comments: {
        parameters: {
            query?: {
                /** @description Most comments in the answer. */
                limit?: number;
                /** @description `page.next` of the page before. */
                cursor?: string;
            };
            header?: {
                /** @description The `ETag` of an earlier answer. */
                "If-None-Match"?: string;
            };
            path: {
                /**
                 * @description The member.
                 * @example 7
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The page. */
            200: {
                headers: {
                    "CDN-Cache-Control": components["headers"]["CDN-Cache-Control"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    ETag: components["headers"]["ETag"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HistoryPage"];
                };
            };
            304: components["responses"]["NotModified"];
            400: components["responses"]["BadRequest"];
            403: components["responses"]["Forbidden"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    preview_comment: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PreviewRequest"];
            };
        };
        responses: {
            /** @description The text as it would be shown. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Preview"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    get_subject: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` of an earlier answer. */
                "If-None-Match"?: string;
            };
            path: {
                /**
                 * @description What kind of thing is commented on.
                 * @example video
                 */
                type: string;
                /**
                 * @description The host's key of it, percent-encoded.
                 * @example 2
                 */
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The subject; an empty one when it has no comments. */
            200: {
                headers: {
                    "CDN-Cache-Control": components["headers"]["CDN-Cache-Control"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    ETag: components["headers"]["ETag"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Subject"];
                };
            };
            304: components["responses"]["NotModified"];
            400: components["responses"]["BadRequest"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    list_comments: {
        parameters: {
            query?: {
                /** @description The order of the list. A cursor has a sort of its own; another one beside it is `bad_cursor`. */
                sort?: "hot" | "new" | "old" | "top" | "best" | "replies" | "controversial";
                /** @description Most comments in the answer. */
                limit?: number;
                /** @description `page.next` of the page before. */
                cursor?: string;
            };
            header?: {
                /** @description The `ETag` of an earlier answer. */
                "If-None-Match"?: string;
            };
            path: {
                /**
                 * @description What kind of thing is commented on.
                 * @example video
                 */
                type: string;
                /**
                 * @description The host's key of it, percent-encoded.
                 * @example 2
                 */
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The page. */
            200: {
                headers: {
                    "CDN-Cache-Control": components["headers"]["CDN-Cache-Control"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    ETag: components["headers"]["ETag"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CommentPage"];
                };
            };
            304: components["responses"]["NotModified"];
            400: components["responses"]["BadRequest"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            410: components["responses"]["Gone"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    create_comment: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key and body from the same member within 24 h get the first answer again. Without the header, a request is not deduplicated. */
                "Idempotency-Key"?: string;
                /** @description The answer to the `challenge` of a `403 challenge_required`: ALTCHA's payload in base64, or Turnstile's token. It counts once. */
                "X-Gailou-Challenge"?: string;
                /** @description With any value nothing is written: a text that the word filter refuses is kept for moderators and answered `422 content_rejected`, every other one `409 version_conflict`. */
                "X-Gailou-Refused"?: string;
            };
            path: {
                /**
                 * @description What kind of thing is commented on.
                 * @example video
                 */
                type: string;
                /**
                 * @description The host's key of it, percent-encoded.
                 * @example 2
                 */
                key: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewComment"];
            };
        };
        responses: {
            /** @description The comment is published and can no longer be lost. */
            201: {
                headers: {
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Comment"];
                };
            };
            /** @description The comment is held for a moderator. */
            202: {
                headers: {
                    "Idempotent-Replayed": components["headers"]["Idempotent-Replayed"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Comment"] & {
                        /** @enum {string} */
                        state?: "review";
                    };
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    watch_subject: {
        parameters: {
            query?: {
                /** @description A version, such as the `epoch` of the page that is shown. Without it, the answer has the present version and no events. */
                after?: string;
            };
            header?: {
                /** @description Where a stream that broke continues; it replaces `after`. */
                "Last-Event-ID"?: string;
            };
            path: {
                /**
                 * @description What kind of thing is commented on.
                 * @example video
                 */
                type: string;
                /**
                 * @description The host's key of it, percent-encoded.
                 * @example 2
                 */
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The events. */
            200: {
                headers: {
                    "Cache-Control": components["headers"]["Cache-Control"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LiveEventPage"];
                    "text/event-stream": string;
                };
            };
            400: components["responses"]["BadRequest"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    get_subject_feed: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` of an earlier answer. */
                "If-None-Match"?: string;
            };
            path: {
                /**
                 * @description What kind of thing is commented on.
                 * @example video
                 */
                type: string;
                /**
                 * @description The host's key of it, percent-encoded.
                 * @example 2
                 */
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The feed. */
            200: {
                headers: {
                    "CDN-Cache-Control": components["headers"]["CDN-Cache-Control"];
                    "Cache-Control": components["headers"]["Cache-Control"];
                    ETag: components["headers"]["ETag"];
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/atom+xml": string;
                };
            };
            304: components["responses"]["NotModified"];
            400: components["responses"]["BadRequest"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    search_subject: {
        parameters: {
            query: {
                /** @description What the comments contain. */
                q: string;
                /** @description Most comments in the answer. */
                limit?: number;
                /** @description `page.next` of the page before. */
                cursor?: string;
            };
            header?: never;
            path: {
                /**
                 * @description What kind of thing is commented on.
                 * @example video
                 */
                type: string;
                /**
                 * @description The host's key of it, percent-encoded.
                 * @example 2
                 */
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The page; each comment has a `highlight`. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HistoryPage"];
                };
            };
            400: components["responses"]["BadRequest"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    get_watch: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description What kind of thing is commented on.
                 * @example video
                 */
                type: string;
                /**
                 * @description The host's key of it, percent-encoded.
                 * @example 2
                 */
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Whether they do. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WatchState"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    put_watch: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description What kind of thing is commented on.
                 * @example video
                 */
                type: string;
                /**
                 * @description The host's key of it, percent-encoded.
                 * @example 2
                 */
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The reader watches it. */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    delete_watch: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description What kind of thing is commented on.
                 * @example video
                 */
                type: string;
                /**
                 * @description The host's key of it, percent-encoded.
                 * @example 2
                 */
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The reader does not watch it. */
            204: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    show_unsubscribe: {
        parameters: {
            query: {
                /** @description The member. */
                member: string;
                /** @description As it is in the mail. */
                signature: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page with a button. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            400: components["responses"]["BadRequest"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    unsubscribe: {
        parameters: {
            query: {
                /** @description The member. */
                member: string;
                /** @description As it is in the mail. */
                signature: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page that says so. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            400: components["responses"]["BadRequest"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    show_form: {
        parameters: {
            query?: {
                /** @description The language of the page; by `Accept-Language` where it is left out. */
                lang?: "en" | "zh" | "zh-TW" | "ja" | "ko" | "de" | "fr" | "es" | "pt-BR" | "ru" | "ar" | "he";
                /** @description The comment that is answered. */
                to?: string;
            };
            header?: never;
            path: {
                /**
                 * @description What kind of thing is commented on.
                 * @example video
                 */
                type: string;
                /**
                 * @description The host's key of it, percent-encoded.
                 * @example 2
                 */
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The form. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            400: components["responses"]["BadRequest"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    send_form: {
        parameters: {
            query?: {
                /** @description The language of the page; by `Accept-Language` where it is left out. */
                lang?: "en" | "zh" | "zh-TW" | "ja" | "ko" | "de" | "fr" | "es" | "pt-BR" | "ru" | "ar" | "he";
            };
            header?: never;
            path: {
                /**
                 * @description What kind of thing is commented on.
                 * @example video
                 */
                type: string;
                /**
                 * @description The host's key of it, percent-encoded.
                 * @example 2
                 */
                key: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/x-www-form-urlencoded": string;
            };
        };
        responses: {
            /** @description The comment is held for a moderator. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description The comment is published; `Location` is its page. */
            303: {
                headers: {
                    "X-Request-Id": components["headers"]["X-Request-Id"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            404: components["responses"]["NotFound"];
            409: components["responses"]["Conflict"];
            422: components["responses"]["Unprocessable"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
}
