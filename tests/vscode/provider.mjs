// A chat-completions provider on loopback: it answers from a script, and remembers what it was asked.
import http from 'node:http';

const DONE = 'data: [DONE]\n\n';

/** Says a text, word by word. `until` is a promise to wait for in the middle; `end` closes the answer. */
export const say = (text, { until } = {}) => ({ text, until });
/** Calls tools, each as `[name, arguments]`. */
export const call = (...calls) => ({ calls });

export class Provider {
  requests = [];
  #script = [];
  #server = http.createServer((request, response) => void this.#serve(request, response));

  async start() {
    await new Promise((ready) => this.#server.listen(0, '127.0.0.1', ready));
    this.url = `http://127.0.0.1:${this.#server.address().port}/v1`;
    return this;
  }

  /** What comes next: answers, or functions from the messages of the request to an answer. */
  script(...answers) {
    this.#script = answers;
  }

  async stop() {
    this.#server.closeAllConnections();
    await new Promise((closed) => this.#server.close(closed));
  }

  async #serve(request, response) {
    let body = '';
    for await (const piece of request) body += piece;
    const { messages } = JSON.parse(body);
    this.requests.push(messages);
    let answer = this.#script.shift();
    if (typeof answer === 'function') answer = answer(messages);
    if (!answer) {
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { message: 'the script is used up' } }));
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const tell = (delta, reason = null) => {
      const choices = [{ index: 0, delta, finish_reason: reason }];
      response.write(`data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices })}\n\n`);
    };
    const words = (answer.text ?? '').split(/(?<=\s)/);
    const half = answer.until ? Math.ceil(words.length / 2) : words.length;
    for (const word of words.slice(0, half)) tell({ content: word });
    if (answer.until) await answer.until;
    for (const word of words.slice(half)) tell({ content: word });
    (answer.calls ?? []).forEach(([name, args], index) => {
      tell({ tool_calls: [{ index, id: `c${this.requests.length}-${index}`, function: { name, arguments: JSON.stringify(args) } }] });
    });
    tell({}, answer.calls ? 'tool_calls' : 'stop');
    const usage = { prompt_tokens: 1200, completion_tokens: 60, total_tokens: 1260 };
    response.write(`data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices: [], usage })}\n\n`);
    response.end(DONE);
  }
}
