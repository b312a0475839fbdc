// A row of the transcript for each kind of item.
import type { Item } from '../../src/session/items';
import { el } from '../dom';
import type { RowView } from '../windowedList';
import type { ItemContext } from './context';
import { messageBody } from './message';
import { endBody, lineBody, questionBody, receiptBody, retryBody, verificationBody } from './records';
import { ReplyView } from './reply';
import { toolBody } from './tool';

/** The row of an item. Its element stays the same when the item changes. */
export function rowOf(item: Item, context: ItemContext): RowView<Item> {
  if (item.kind === 'reply') {
    const view = new ReplyView(item, context);
    return {
      element: view.element,
      update: (next) => {
        if (next.kind === 'reply') view.update(next);
      },
    };
  }
  const element = el('article', { class: 'row' });
  const update = (next: Item) => {
    const hadFocus = element.contains(document.activeElement);
    element.className = `row ${classOf(next)}`;
    element.replaceChildren(...bodyOf(next, context));
    if (hadFocus) element.querySelector<HTMLElement>('summary, button')?.focus();
  };
  update(item);
  return { element, update };
}

function classOf(item: Item): string {
  switch (item.kind) {
    case 'message':
      return `message from-${item.from}`;
    case 'line':
    case 'end':
      return `${item.kind} ${item.tone}`;
    default:
      return item.kind;
  }
}

function bodyOf(item: Item, context: ItemContext): Node[] {
  switch (item.kind) {
    case 'message':
      return messageBody(item, context);
    case 'reply':
      return [];
    case 'tool':
      return toolBody(item, context);
    case 'question':
      return questionBody(item, context);
    case 'retry':
      return retryBody(item);
    case 'receipt':
      return receiptBody(item, context);
    case 'verification':
      return verificationBody(item);
    case 'line':
      return lineBody(item, context);
    case 'end':
      return endBody(item, context);
  }
}
