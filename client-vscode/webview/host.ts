// The way to the editor, and what the page may keep there over being hidden.
import type { ContextItem } from '../src/lsp/protocol';
import type { FromPage, ToPage } from '../src/views/messages';

/** What a person has written and not sent. */
export interface Draft {
  text: string;
  context: ContextItem[];
}

export interface Host {
  post(message: FromPage): void;
  onMessage(listener: (message: ToPage) => void): void;
  readonly draft: Draft;
  keep(draft: Draft): void;
}

declare function acquireVsCodeApi(): {
  postMessage(message: FromPage): void;
  getState(): Draft | undefined;
  setState(draft: Draft): void;
};

export function editorHost(): Host {
  const api = acquireVsCodeApi();
  return {
    post: (message) => {
      api.postMessage(message);
    },
    onMessage: (listener) => {
      window.addEventListener('message', ({ data }: MessageEvent<ToPage>) => {
        listener(data);
      });
    },
    draft: api.getState() ?? { text: '', context: [] },
    keep: (draft) => {
      api.setState(draft);
    },
  };
}
