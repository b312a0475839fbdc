// The way to the editor.
import type { FromPage, ToPage } from '../src/views/messages';

export interface Host {
  post(message: FromPage): void;
  onMessage(listener: (message: ToPage) => void): void;
}

declare function acquireVsCodeApi(): { postMessage(message: FromPage): void };

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
  };
}
