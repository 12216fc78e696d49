/**
 * Which colours the page really uses, light or dark, whatever the reader's system prefers: what is behind the element
 * decides, and where nothing opaque is, the scheme that the page declares.
 */

export type Theme = 'auto' | 'light' | 'dark';
type Scheme = Exclude<Theme, 'auto'>;

/** Less than this shows what is behind. */
const MIN_OPAQUE_ALPHA = 0.9;
/** Black and white have the same contrast with a colour of this luminance. */
const MIDDLE_LUMINANCE = 0.179;

interface Color {
  luminance: number;
  alpha: number;
}

/** A style sheet with the scheme of the page behind one element. */
export class PageTheme {
  readonly sheet = new CSSStyleSheet();
  readonly #element: HTMLElement;
  readonly #theme: () => Theme;
  readonly #preference = matchMedia('(prefers-color-scheme: dark)');

  constructor(element: HTMLElement, theme: () => Theme) {
    this.#element = element;
    this.#theme = theme;
  }

  /** Follows the page until `signal` is aborted. */
  follow(signal: AbortSignal): void {
    const update = () => this.update();
    // Pages switch by `class`, `style`, `data-theme` and other names.
    const observer = new MutationObserver(update);
    for (const node of [document.documentElement, document.body]) {
      observer.observe(node, { attributes: true });
    }
    signal.addEventListener('abort', () => observer.disconnect());
    this.#preference.addEventListener('change', update, { signal });
    // A page that fades its background has the new one at the end.
    const onTransition = ({ propertyName, target }: TransitionEvent) => {
      const isBackground = propertyName === 'background-color';
      if (isBackground && (target as Node).contains(this.#element)) update();
    };
    document.addEventListener('transitionend', onTransition, { signal });
    update();
  }

  update(): void {
    const theme = this.#theme();
    const rule =
      theme === 'auto'
        ? pageRule(this.#element, this.#preference.matches)
        : `color-scheme:${theme}`;
    this.sheet.replaceSync(`:host{${rule}}`);
  }
}

function pageRule(element: HTMLElement, prefersDark: boolean): string {
  const parent = parentOf(element) ?? document.documentElement;
  for (let at: Element | null = parent; at; at = parentOf(at)) {
    const { backgroundColor, backgroundImage, color } = getComputedStyle(at);
    const behind = parseColor(backgroundColor);
    if (behind.alpha >= MIN_OPAQUE_ALPHA) {
      return `color-scheme:${schemeOn(behind)};--page:${backgroundColor}`;
    }
    // Of a picture only the text that stands on it is known.
    if (backgroundImage !== 'none') {
      return `color-scheme:${schemeOn(parseColor(color)) === 'dark' ? 'light' : 'dark'}`;
    }
  }
  return `color-scheme:${declaredScheme(getComputedStyle(parent).colorScheme, prefersDark)}`;
}

const schemeOn = ({ luminance }: Color): Scheme =>
  luminance < MIDDLE_LUMINANCE ? 'dark' : 'light';

/** A page that declares nothing is light. */
function declaredScheme(inherited: string, prefersDark: boolean): Scheme {
  const meta = document.querySelector<HTMLMetaElement>('meta[name="color-scheme"]');
  const declared = inherited === 'normal' ? (meta?.content ?? '') : inherited;
  if (!declared.includes('dark')) return 'light';
  return prefersDark || !declared.includes('light') ? 'dark' : 'light';
}

/** The parent in what is drawn: through slots and out of shadow trees. */
function parentOf(node: Element): Element | null {
  if (node.assignedSlot) return node.assignedSlot;
  const parent = node.parentNode;
  return parent instanceof ShadowRoot ? parent.host : node.parentElement;
}

/** A computed colour: `rgb(…)`, `color(srgb …)`, or one that begins with its lightness. */
export function parseColor(text: string): Color {
  const numbers = text.replace(/^color\([\w-]+/, '').match(/[\d.]+(e-\d+)?/g) ?? [0, 0, 0, 0];
  const [first = 0, second = 0, third = 0, alpha = 1] = numbers.map(Number);
  return { luminance: luminanceOf(text, first, second, third), alpha };
}

function luminanceOf(text: string, first: number, second: number, third: number): number {
  if (text.startsWith('ok')) return first ** 3;
  if (text.startsWith('l')) return ((first + 16) / 116) ** 3;
  const most = text.startsWith('rgb') ? 255 : 1;
  // Near enough to sRGB for a choice between light and dark.
  const linear = (part: number) => (part / most) ** 2.2;
  return 0.2126 * linear(first) + 0.7152 * linear(second) + 0.0722 * linear(third);
}
