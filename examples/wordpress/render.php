<?php
// Runs the plugin without WordPress, and prints the comments of post 7 as a theme of PHP files does. The arguments are the
// server, the secret, and the name of the member who is signed in.

[, $server, $secret, $name] = $argv;
$options = ['gailou_server' => $server, 'gailou_secret' => $secret];
$filters = [];

define('ABSPATH', __DIR__);
define('WP_CONTENT_DIR', sys_get_temp_dir());

function add_filter(string $hook, callable $filter): void
{
    $GLOBALS['filters'][$hook] = $filter;
}

function add_action(string $hook, callable $action): void
{
}

function get_option(string $name): string
{
    return $GLOBALS['options'][$name];
}

function get_locale(): string
{
    return 'de_DE';
}

function get_the_ID(): int
{
    return 7;
}

function comments_open(): bool
{
    return true;
}

function esc_attr(string $text): string
{
    return htmlspecialchars($text, ENT_QUOTES);
}

function esc_url(string $url): string
{
    return htmlspecialchars($url, ENT_QUOTES);
}

function user_can(object $user, string $capability): bool
{
    return false;
}

function wp_get_current_user(): object
{
    return new class ($GLOBALS['name']) {
        public int $ID = 42;
        public string $display_name;

        public function __construct(string $name)
        {
            $this->display_name = $name;
        }

        public function exists(): bool
        {
            return $this->display_name !== '';
        }
    };
}

require __DIR__ . '/gailou.php';

$template = $filters['comments_template']('the-template-of-the-theme');
$block = $filters['render_block_core/comments']('the comments of the theme');
fwrite(STDERR, json_encode(['template' => $template, 'block' => $block]));
