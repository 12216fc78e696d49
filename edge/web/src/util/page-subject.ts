/**
 * The subject of the page itself, for comments that name none: its canonical address, without what changes nothing about
 * which page it is. `origin/src/domain/page_address.rs` has the same rule, and `tests/data/page-addresses.tsv` has examples
 * that both are tested with.
 */

/** Parameters that say only where the reader came from. */
const CAMPAIGN = /^(utm_|(fbclid|gclid|msclkid|mc_cid|mc_eid|replytocom)?(=|$))/;
const CONTROL_CHARACTER = /\p{Cc}/u;

/** The key of the page with this address. */
export function pageKey(address: string): string {
  const { hostname, pathname, search } = new URL(address);
  const query = search.slice(1).split('&');
  const counting = query.filter((part) => !CAMPAIGN.test(part)).join('&');
  const path = decoded(pathname).replace(/\/+$/, '');
  return hostname.replace(/^www\./, '') + path + (counting && `?${counting}`);
}

function decoded(path: string): string {
  try {
    const text = decodeURIComponent(path);
    return CONTROL_CHARACTER.test(text) ? path : text;
  } catch {
    return path;
  }
}

/** Gives an element that has no subject that of this page. */
export function takePage(element: { subject: string }): void {
  const link = document.querySelector<HTMLLinkElement>('link[rel=canonical]');
  element.subject ||= `article/${pageKey(link?.href || location.href)}`;
}
