// The model's words as they come in, its reasoning folded away.
import type { ReplyItem } from '../../src/session/items';
import { el, foldable, setText, show } from '../dom';
import { StreamedMarkdown } from '../streamedMarkdown';
import type { RowView } from '../windowedList';
import type { ItemContext } from './context';

export class ReplyView implements RowView<ReplyItem> {
  readonly element = el('article', { class: 'row reply' });
  private readonly words: StreamedMarkdown;
  private readonly reasoning = el('pre', { class: 'output reasoning-text' });
  private readonly reasoningHead = el('span', { class: 'dim' });
  private readonly reasoningFold: HTMLElement;
  private readonly foot = el('div', { class: 'dim foot' });

  constructor(item: ReplyItem, context: ItemContext) {
    this.words = new StreamedMarkdown(context.openLink);
    this.reasoningFold = foldable([this.reasoningHead], () => this.reasoning, context.fold(`reply ${item.seq}`));
    this.reasoningFold.classList.add('reasoning');
    this.element.append(this.reasoningFold, this.words.element, this.foot);
    this.update(item);
  }

  update({ text, reasoning, state, preparing }: ReplyItem): void {
    const isStreaming = state === 'streaming';
    this.element.classList.toggle('streaming', isStreaming);
    this.element.classList.toggle('nothing', !isStreaming && text === '' && reasoning === '');
    show(this.reasoningFold, reasoning !== '');
    setText(this.reasoningHead, isStreaming && text === '' ? 'Thinking…' : 'Thoughts');
    setText(this.reasoning, reasoning);
    this.words.update(text, !isStreaming);
    setText(this.foot, footOf(state, preparing));
    show(this.foot, this.foot.textContent !== '');
  }
}

function footOf(state: ReplyItem['state'], preparing: string | undefined): string {
  if (state === 'interrupted') return 'Interrupted here.';
  return state === 'streaming' && preparing !== undefined ? `Writing a call of ${preparing}…` : '';
}
