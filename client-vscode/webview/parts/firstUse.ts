// What an empty session says: what one can ask for. A click only fills the composer.
import { button, el } from '../dom';

const EXAMPLES = [
  'Explain how this project is built, and where its tests are.',
  'Run the tests and fix what fails.',
  '/goal Make all tests pass --check "pytest -q"',
];

export function firstUse(compose: (text: string) => void): HTMLElement {
  const examples = EXAMPLES.map((text) =>
    el(
      'li',
      {},
      button(
        text,
        () => {
          compose(text);
        },
        { class: 'example' },
      ),
    ),
  );
  return el(
    'section',
    { class: 'first-use', 'aria-label': 'First steps' },
    el('h2', {}, 'What shall be done?'),
    el(
      'p',
      {},
      'Write below. While the agent works, Enter steers it and Stop stops it. A goal goes on in rounds until its checks pass.',
    ),
    el('ul', {}, ...examples),
  );
}
