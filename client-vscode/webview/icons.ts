// Pictures of the page, drawn in the colour of the text around them.

const NAMESPACE = 'http://www.w3.org/2000/svg';

const PATHS = {
  stop: 'M3.5 3.5h9v9h-9z',
  send: 'M8 13.5v-11M3.5 7 8 2.5 12.5 7',
  queue: 'M2.5 4h11M2.5 8h11M2.5 12h6',
  close: 'm4 4 8 8m0-8-8 8',
  edit: 'm3 13 .6-2.8L10.8 3l2.2 2.2-7.2 7.2L3 13Z',
  down: 'M8 3v10M3.5 8.5 8 13l4.5-4.5',
  check: 'm3 8.5 3.2 3.2L13 5',
  cross: 'm4 4 8 8m0-8-8 8',
  dot: 'M8 6.5a1.5 1.5 0 1 1 0 3 1.5 1.5 0 0 1 0-3Z',
  bell: 'M4 11.5c.8-1 1-2 1-4a3 3 0 0 1 6 0c0 2 .2 3 1 4H4Zm3 2h2',
  ban: 'M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11ZM4 4l8 8',
  question: 'M5.8 6a2.2 2.2 0 1 1 3.2 2c-.7.4-1 .8-1 1.6M8 12v.4',
  target: 'M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11Zm0 3a2.5 2.5 0 1 1 0 5 2.5 2.5 0 0 1 0-5Z',
  clip: 'm12 7-4.6 4.6a2.5 2.5 0 0 1-3.5-3.5l5-5a1.6 1.6 0 0 1 2.3 2.3l-4.9 4.9',
  copy: 'M5.5 5.5h7v7h-7zM3.5 10.5v-7h7',
  clock: 'M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11ZM8 5v3l2 1.5',
} as const;

export type IconName = keyof typeof PATHS;

export function icon(name: IconName): SVGSVGElement {
  const picture = document.createElementNS(NAMESPACE, 'svg');
  picture.setAttribute('viewBox', '0 0 16 16');
  picture.setAttribute('class', `icon icon-${name}`);
  picture.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS(NAMESPACE, 'path');
  path.setAttribute('d', PATHS[name]);
  picture.append(path);
  return picture;
}
