// Asking the server.

import { complain, solved, token } from "./dom.js";

export class Refused extends Error {
  constructor(status, body) {
    super(body.error || `the server answered ${status}`);
    this.status = status;
    this.body = body;
  }
}

async function ask(address, options) {
  let answer;
  try {
    answer = await fetch(address, options);
  } catch (error) {
    if (error.name !== "AbortError") complain("The server does not answer. Is bilex explore still running?", "connection");
    throw error;
  }
  solved("connection");
  let body = {};
  try {
    body = await answer.json();
  } catch (error) {
    if (answer.ok) throw error; // given up on the way; else the status says enough
  }
  if (!answer.ok) throw new Refused(answer.status, body);
  if (options?.method === "POST") solved("answer");
  return body;
}

export function get(path, parameters = {}, signal = undefined) {
  return ask(`/api/${path}?${new URLSearchParams(parameters)}`, { signal });
}

export function post(path, body = {}) {
  const headers = { "content-type": "application/json", "x-bilex-token": token };
  return ask(`/api/${path}`, { method: "POST", headers, body: JSON.stringify(body) });
}
