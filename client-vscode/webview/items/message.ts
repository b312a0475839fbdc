// A person's words, a round of the goal, and what the host told the model: three looks, so that none is taken for another.
import type { MessageItem } from '../../src/session/items';
import { el, foldable } from '../dom';
import { icon } from '../icons';
import { placeOf, type ItemContext } from './context';

export function messageBody(item: MessageItem, context: ItemContext): Node[] {
  switch (item.from) {
    case 'person':
      return [
        el('span', { class: 'sr-only' }, item.steer ? 'You, steering: ' : 'You: '),
        el('div', { class: 'words' }, item.text),
        ...attached(item),
        ...(item.steer ? [el('span', { class: 'tag' }, 'steered')] : []),
      ];
    case 'goal':
      return [
        foldable(
          [
            icon('target'),
            el('span', { class: 'round' }, item.label),
            el('span', { class: 'dim' }, 'asked by the goal'),
          ],
          () => el('pre', { class: 'output' }, item.text),
          context.fold(`message ${item.seq}`),
        ),
      ];
    default:
      return [
        foldable(
          [el('span', { class: 'dim' }, `The model was told: ${item.label}`)],
          () => el('pre', { class: 'output' }, item.text),
          context.fold(`message ${item.seq}`),
        ),
      ];
  }
}

function attached({ context }: MessageItem): Node[] {
  if (context.length === 0) return [];
  const chips = context.map((given) => el('span', { class: 'chip' }, icon('clip'), placeOf(given)));
  return [el('div', { class: 'chips' }, ...chips)];
}
