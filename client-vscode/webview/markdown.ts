// Markdown of others as nodes that can do nothing: no HTML, no picture, no address, no attribute of theirs.
// Where a link leads is known to the page's own code only; the editor asks before it goes there.
import createDOMPurify from 'dompurify';
import MarkdownIt from 'markdown-it';
import { isWebAddress } from '../src/views/messages';
import { iconButton } from './dom';
import { icon } from './icons';

/** Longer text is shown as it is: what formats it must stay quick. */
const LONGEST = 30_000;

const TAGS = [
  ...['p', 'br', 'hr', 'em', 'strong', 's', 'code', 'pre', 'blockquote', 'ul', 'ol', 'li', 'a'],
  ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'table', 'thead', 'tbody', 'tr', 'th', 'td'],
];

const parser = new MarkdownIt({ html: false, linkify: false, typographer: false, breaks: false });
parser.disable('image');
const purifier = createDOMPurify(window);

export type OpenLink = (url: string) => void;

/** The text as nodes. */
export function markdown(text: string, openLink: OpenLink): DocumentFragment {
  if (text.length > LONGEST) return plain(text);
  const fragment = purifier.sanitize(parser.render(text), {
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: ['href', 'start'],
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    RETURN_DOM_FRAGMENT: true,
  });
  for (const link of fragment.querySelectorAll('a')) tame(link, openLink);
  for (const table of fragment.querySelectorAll('table')) {
    const wide = document.createElement('div');
    wide.className = 'wide';
    table.replaceWith(wide);
    wide.append(table);
  }
  for (const block of fragment.querySelectorAll('pre')) addCopy(block);
  return fragment;
}

function plain(text: string): DocumentFragment {
  const block = document.createElement('pre');
  block.className = 'plain';
  block.textContent = text;
  const fragment = document.createDocumentFragment();
  fragment.append(block);
  return fragment;
}

/** A link becomes words that can be chosen, or only words where it leads to no web page. */
function tame(link: HTMLAnchorElement, openLink: OpenLink): void {
  const url = link.getAttribute('href');
  const words = document.createElement('span');
  words.append(...link.childNodes);
  link.replaceWith(words);
  if (!isWebAddress(url)) return;
  words.className = 'link';
  words.tabIndex = 0;
  words.setAttribute('role', 'link');
  words.addEventListener('click', () => {
    openLink(url);
  });
  words.addEventListener('keydown', ({ key }) => {
    if (key === 'Enter') openLink(url);
  });
}

function addCopy(block: HTMLPreElement): void {
  const frame = document.createElement('div');
  frame.className = 'code';
  block.replaceWith(frame);
  const copy = iconButton(icon('copy'), 'Copy', () => void navigator.clipboard.writeText(block.textContent), 'copy');
  frame.append(block, copy);
}
