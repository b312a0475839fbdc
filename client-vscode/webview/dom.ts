// Small hands for the DOM. Text becomes text nodes and nothing else.

type Child = Node | string | false | undefined;

interface Attributes {
  class?: string;
  title?: string;
  role?: string;
  [aria: `aria-${string}`]: string | undefined;
}

/** An element. Only the page's own words may stand in `attributes`. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries<string | undefined>({ ...attributes }))
    if (value !== undefined) element.setAttribute(name, value);
  element.append(...children.filter((child): child is Node | string => child !== undefined && child !== false));
  return element;
}

export function button(label: string, act: () => void, attributes: Attributes = {}): HTMLButtonElement {
  const element = el('button', attributes, label);
  element.type = 'button';
  element.addEventListener('click', act);
  return element;
}

/** A button that shows a picture and says its name to those who cannot see it. */
export function iconButton(icon: Node, name: string, act: () => void, more = ''): HTMLButtonElement {
  const element = button('', act, { class: `icon-button ${more}`.trim(), title: name, 'aria-label': name });
  element.append(icon);
  return element;
}

/** Replaces what is in an element, but only if it differs: no flicker, and the focus stays. */
export function setText(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

export function show(element: HTMLElement, isShown: boolean): void {
  element.hidden = !isShown;
}

/** Does what may take away the element with the focus. Who was there with the keyboard is then at `instead`, not nowhere. */
export function keepFocus(act: () => void, instead: () => void): void {
  const { activeElement: before } = document;
  const hadFocus = document.hasFocus() && before !== null && before !== document.body;
  act();
  const { activeElement: now } = document;
  const isNowhere = now === null || now === document.body || (now === before && isGone(now));
  if (hadFocus && isNowhere) instead();
}

function isGone(element: Element): boolean {
  return !element.isConnected || element.closest('[hidden]') !== null || element.matches(':disabled');
}

/** What can be folded open. Its inside is made when it is opened first. */
export function foldable(
  head: (Node | string)[],
  inside: () => Node,
  state: { isOpen: boolean; toggled(isOpen: boolean): void },
): HTMLDetailsElement {
  const details = el('details', {}, el('summary', {}, ...head));
  const fill = () => {
    if (details.open && details.childElementCount === 1) details.append(inside());
  };
  details.open = state.isOpen;
  fill();
  details.addEventListener('toggle', () => {
    fill();
    state.toggled(details.open);
  });
  return details;
}
