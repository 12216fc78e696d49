<?php
/**
 * Plugin Name: Gailou
 * Description: Puts the comments of Gailou in the place of those of WordPress. Settings → Discussion has the address of the server, and the secret with which members of the site are signed in.
 * Version: 0.1.0
 * Requires PHP: 7.4
 * License: MIT OR Apache-2.0
 */

defined('ABSPATH') || exit;

/** How long a member's token is good: a page that stays open longer asks the reader to load it again. */
const GAILOU_TOKEN_SECONDS = 86400;

/** The settings by their names: a label, and how what is typed is cleaned. */
const GAILOU_SETTINGS = [
    'gailou_server' => ['Gailou: address of the server', 'esc_url_raw'],
    'gailou_secret' => ['Gailou: secret of the tokens', 'sanitize_text_field'],
];

/** What JWT has in the place of Base64. */
function gailou_base64url(string $bytes): string
{
    return rtrim(strtr(base64_encode($bytes), '+/', '-_'), '=');
}

/** A token that signs a member in, for the secret that the server has as GAILOU_TOKEN_SECRET. */
function gailou_token(array $member, string $secret, int $now): string
{
    $claims = $member + ['aud' => 'gailou', 'iat' => $now, 'exp' => $now + GAILOU_TOKEN_SECONDS];
    $parts = [gailou_base64url('{"alg":"HS256","typ":"JWT"}'), gailou_base64url(json_encode($claims, JSON_UNESCAPED_UNICODE))];
    $signed = implode('.', $parts);
    return $signed . '.' . gailou_base64url(hash_hmac('sha256', $signed, $secret, true));
}

/** The member who reads the page; null for a guest. */
function gailou_member(): ?array
{
    $user = wp_get_current_user();
    if (!$user->exists()) {
        return null;
    }
    $member = ['sub' => (string) $user->ID, 'name' => $user->display_name];
    if (user_can($user, 'moderate_comments')) {
        $member['role'] = 'moderator';
    }
    return $member;
}

/** The comments of a post, as HTML. Its id stays the same when its address changes. */
function gailou_comments(int $post_id): string
{
    $server = rtrim((string) get_option('gailou_server'), '/');
    if ($server === '') {
        return '';
    }
    $attributes = [
        'subject' => "article/$post_id",
        'api' => $server,
        'lang' => str_replace('_', '-', get_locale()),
    ];
    $secret = (string) get_option('gailou_secret');
    $member = $secret === '' ? null : gailou_member();
    if ($member !== null) {
        // The page has the token of one reader, so caches of pages must not keep it.
        defined('DONOTCACHEPAGE') || define('DONOTCACHEPAGE', true);
        $attributes['token'] = gailou_token($member, $secret, time());
    }
    $html = '<gailou-comments';
    foreach ($attributes as $name => $value) {
        $html .= sprintf(' %s="%s"', $name, esc_attr($value));
    }
    return $html . '></gailou-comments><script src="' . esc_url("$server/gailou.js") . '" async></script>';
}

/** Themes of PHP files: this runs where the theme shows comments, and the file that it names shows nothing. */
add_filter('comments_template', function (string $template): string {
    $comments = gailou_comments((int) get_the_ID());
    if ($comments === '' || !comments_open()) {
        return $template;
    }
    echo $comments;
    return WP_CONTENT_DIR . '/index.php';
});

/** Themes of blocks. */
add_filter('render_block_core/comments', function (string $content): string {
    $comments = comments_open() ? gailou_comments((int) get_the_ID()) : '';
    return $comments === '' ? $content : $comments;
});

add_action('admin_init', function (): void {
    foreach (GAILOU_SETTINGS as $name => [$label, $clean]) {
        register_setting('discussion', $name, ['type' => 'string', 'sanitize_callback' => $clean]);
        add_settings_field($name, $label, function () use ($name): void {
            $type = $name === 'gailou_secret' ? 'password' : 'url';
            printf(
                '<input class="regular-text" type="%s" id="%2$s" name="%2$s" value="%3$s" autocomplete="off">',
                $type,
                esc_attr($name),
                esc_attr((string) get_option($name))
            );
        }, 'discussion', 'default', ['label_for' => $name]);
    }
});
