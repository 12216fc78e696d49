import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codeKey, namedLanguages } from './code-language.ts';

const check = (name: string, markdown: string, expected: [string, string][]) =>
  test(name, () => assert.deepEqual([...namedLanguages(markdown)], expected));

check('text without code', 'a `word` and\n\nmore', []);
check('named block', 'See\n\n```rust\nfn main() {}\n```\nand on', [['fn main() {}', 'rust']]);
check('name is small letters', '~~~ Python\nx = 1\n~~~', [['x = 1', 'python']]);
check('block without a name', '```\nx\n```', [['x', '']]);
check('only a fence of its kind and length ends a block', '````md\n```js\nx\n```\n````', [
  ['```js\nx\n```', 'md'],
]);
check('two blocks', '```js\na\n```\n\n```css\nb {}\n```', [
  ['a', 'js'],
  ['b {}', 'css'],
]);
check('block in a quote', '> ```sql\n> SELECT 1\n> ```', [['SELECT 1', 'sql']]);
check('block in a list', '- ```sh\n  ls -l\n  ```', [['ls -l', 'sh']]);
check('block that does not end', '```go\nfunc main() {}', [['func main() {}', 'go']]);

test('indentation does not distinguish blocks', () =>
  assert.equal(codeKey('  if x:\n      y\n'), codeKey('if x:\n  y')));
