// Requests to the server.

import { showProblem, clearProblem, token } from "./dom.js";

export class RequestError extends Error {
  constructor(status, body) {
    super(body.error || `the server answered ${status}`);
    this.status = status;
    this.body = body;
  }
}

async function request(address, options) {
  let answer;
  try {
    answer = await fetch(address, options);
  } catch (error) {
    if (error.name !== "AbortError") showProblem("The server does not answer. Is bilex explore still running?", "connection");
    throw error;
  }
  clearProblem("connection");
  let body = {};
  try {
    body = await answer.json();
  } catch (error) {
    if (answer.ok) throw error; // aborted on the way; otherwise the status says enough
  }
  if (!answer.ok) throw new RequestError(answer.status, body);
  if (options?.method === "POST") clearProblem("answer");
  return body;
}

export function get(path, parameters = {}, signal = undefined) {
  return request(`/api/${path}?${new URLSearchParams(parameters)}`, { signal });
}

export function post(path, body = {}) {
  const headers = { "content-type": "application/json", "x-bilex-token": token };
  return request(`/api/${path}`, { method: "POST", headers, body: JSON.stringify(body) });
}
