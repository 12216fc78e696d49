// Functions that run in the page, for `page.evaluate`: each is self-contained.

/** The tag, the classes and the id of the focused element, through shadow roots. */
export function focusedElement() {
  let node = document.activeElement;
  while (node?.shadowRoot) node = node.shadowRoot.activeElement;
  return node ? `${node.tagName} ${node.className} ${node.id}` : '';
}

/** The controls of the page and of the element that have no accessible name. */
export function namelessControls() {
  const controls = 'button, a[href], input, textarea, select';
  const root = document.querySelector('gailou-comments').shadowRoot;
  const nameOf = (node) =>
    node.getAttribute('aria-label') ||
    [...(node.labels || [])].map((label) => label.textContent).join('') ||
    (['BUTTON', 'A'].includes(node.tagName) ? node.textContent : '');
  return [...document.querySelectorAll(controls), ...root.querySelectorAll(controls)]
    .filter((node) => !node.closest('[hidden]') && !nameOf(node).trim())
    .map((node) => node.outerHTML);
}

/** The problems with ids, references and regions in the element. */
export function structureFaults() {
  const root = document.querySelector('gailou-comments').shadowRoot;
  const ids = [...root.querySelectorAll('[id]')].map((node) => node.id);
  const referring = root.querySelectorAll('[aria-labelledby], [aria-describedby]');
  const references = [...referring]
    .flatMap((node) =>
      ['aria-labelledby', 'aria-describedby'].map((name) => node.getAttribute(name)),
    )
    .filter(Boolean)
    .flatMap((value) => value.split(' '));
  return {
    doubledIds: ids.filter((id, index) => ids.indexOf(id) !== index),
    danglingReferences: references.filter((id) => !ids.includes(id)),
    imagesWithoutAlt: root.querySelectorAll('img:not([alt])').length,
    liveRegions: root.querySelectorAll('[aria-live="polite"]').length,
    timesWithoutDate: root.querySelectorAll('time:not([datetime])').length,
  };
}

/** The controls of the element that are lower than `least` or narrower than 24 px; behind an open window none is used. */
export function smallControls(node, least) {
  const root = node.shadowRoot;
  const place = root.querySelector('dialog[open]') ?? root;
  const all = place.querySelectorAll(
    'button, input, select, textarea, .head a, .answer a, .media a, .found a, .profile li, ' +
      '[role="menuitem"], [role="option"]',
  );
  return [...all].flatMap((control) => {
    const target = control.matches('[type="radio"]') ? control.closest('label') : control;
    const { width, height } = target.getBoundingClientRect();
    const isSmall = height < least - 0.5 || width < 23.5;
    return isSmall && target.checkVisibility()
      ? [`${Math.round(width)}×${Math.round(height)} ${control.outerHTML.slice(0, 90)}`]
      : [];
  });
}

/** Visible texts whose contrast is below 4.5:1, or below 3:1 from 24 px on. */
export function lowContrast() {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const luminance = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((value) => {
      const part = value / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const backgroundOf = (node) => {
    for (let at = node; at; at = at.parentElement || at.getRootNode().host) {
      const color = rgba(getComputedStyle(at).backgroundColor);
      if (color[3] === 255) return color;
    }
    return [255, 255, 255, 255];
  };
  const root = document.querySelector('gailou-comments').shadowRoot;
  const low = [];
  for (const node of [...document.body.querySelectorAll('*'), ...root.querySelectorAll('*')]) {
    const hasText = [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
    if (!hasText || !node.checkVisibility() || node.closest('.sr')) continue;
    const style = getComputedStyle(node);
    const [a, b] = [luminance(rgba(style.color)), luminance(backgroundOf(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const needed = Number.parseFloat(style.fontSize) >= 24 ? 3 : 4.5;
    if (ratio < needed) low.push(`${node.className} "${node.textContent.slice(0, 30)}" ${ratio}`);
  }
  return low;
}

/** The nodes of a comment's body: of the body itself, or of the body in an article. */
export function inspectBody(node) {
  const body = node.matches('.body') ? node : node.querySelector('.body');
  const all = [...body.querySelectorAll('*')];
  return {
    tags: all.map((each) => each.localName),
    attributes: all.flatMap((each) => each.getAttributeNames()),
    links: [...body.querySelectorAll('a')].map((each) => each.getAttribute('href')),
  };
}

/** The parts of a server-rendered page that a hostile text could change: elements, attributes, links, scripts. */
export function inspectDocument() {
  const all = [...document.querySelectorAll('*')];
  return {
    elements: [...new Set(all.map((node) => node.localName))],
    foreign: all.filter((node) => node.namespaceURI !== 'http://www.w3.org/1999/xhtml').length,
    attributes: [...new Set(all.flatMap((node) => node.getAttributeNames()))],
    hasComments: document.createTreeWalker(document, NodeFilter.SHOW_COMMENT).nextNode() !== null,
    links: all.filter((node) => node.hasAttribute('href')).map((node) => node.getAttribute('href')),
    scripts: [...document.scripts].map((node) => ({
      type: node.type,
      src: node.getAttribute('src'),
      text: node.text,
    })),
    names: [...document.querySelectorAll('article .author')].map((node) => ({
      name: node.textContent,
      isolated: node.firstChild.localName === 'bdi' && node.childNodes.length === 1,
    })),
    bodies: [...document.querySelectorAll('.body:not(.gone)')].map((node) =>
      node.getAttribute('dir'),
    ),
    heading: document.querySelector('h1')?.textContent,
    title: document.title,
    pwned: window.pwned,
  };
}
