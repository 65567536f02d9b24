// Looks into the document for anything that text could have become.
import type { Page } from 'playwright-core';

export interface Inspection {
  /** Everything that can be read, also in fields and tooltips. */
  text: string;
  /** Elements and attributes that no text may create. */
  suspicious: string[];
}

/** Opens everything that can be unfolded first. */
export async function inspectPage(page: Page): Promise<Inspection> {
  await page.evaluate(unfold);
  return page.evaluate<Inspection>(inspect);
}

const unfold = `(async () => {
  for (let round = 0; round < 3; round++) {
    for (const button of document.querySelectorAll('main [aria-expanded=false]:not([aria-haspopup])')) if (button.tagName === 'BUTTON') button.click();
    for (const details of document.querySelectorAll('main details')) details.open = true;
    for (const button of document.querySelectorAll('main button')) if (/^Show (all|\\d+)/.test(button.textContent)) button.click();
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)));
  }
})()`;

const inspect = `(() => {
  const suspicious = [];
  const hidden = /[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u061c\\u200b-\\u200f\\u202a-\\u202e\\u2060\\u2066-\\u2069\\ufeff\\u{e0000}-\\u{e007f}]/u;
  const texts = [document.title, document.body.innerText];
  for (const element of document.querySelectorAll('*')) {
    const name = element.localName;
    if (['iframe', 'object', 'embed', 'base', 'style', 'frame', 'portal', 'video', 'audio'].includes(name)) suspicious.push('<' + name + '>');
    if (name === 'script' && new URL(element.src || 'about:inline', location).origin !== location.origin) suspicious.push('script ' + element.outerHTML);
    if (name === 'meta' && element.httpEquiv) suspicious.push('meta ' + element.outerHTML);
    for (const { name: attribute, value } of element.attributes) {
      if (attribute.startsWith('on')) suspicious.push(name + ' ' + attribute);
      if (attribute === 'style' && /url|outside/.test(value)) suspicious.push('style ' + value);
      if (['src', 'srcset', 'action', 'formaction', 'poster', 'data', 'xlink:href'].includes(attribute) && new URL(value, location).origin !== location.origin)
        suspicious.push(name + ' ' + attribute + ' ' + value);
      if (attribute === 'href') {
        const url = new URL(value, location);
        const isOwn = url.origin === location.origin;
        const isLink = name === 'a' && /^https?:$/.test(url.protocol) && element.rel.includes('noopener') && element.target === '_blank';
        if (!isOwn && !isLink) suspicious.push(name + ' href ' + value);
      }
      if (['title', 'aria-label', 'placeholder', 'alt', 'value'].includes(attribute)) texts.push(value);
      if (hidden.test(value)) suspicious.push('hidden characters in ' + name + ' ' + attribute);
    }
    if ('value' in element && typeof element.value === 'string') texts.push(element.value);
  }
  for (const text of texts) {
    const found = hidden.exec(text);
    if (found) suspicious.push('hidden character U+' + found[0].codePointAt(0).toString(16) + ' in: ' + text.slice(Math.max(0, found.index - 60), found.index + 10));
  }
  if (window.wasRun) suspicious.push('code was run');
  return { text: texts.join('\\n'), suspicious: [...new Set(suspicious)] };
})()`;
