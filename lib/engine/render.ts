import { allOf, formatKey } from '../core/index.js';
import type { CallId } from './commands.js';
import type { Engine } from './engine.js';
import type { EngineState } from './engine-state.js';
import type { L1Node } from './lock-node.js';
import type { Request } from './request.js';
import type { Session } from './session.js';
import type { WaitQueue } from './wait-queue.js';

/**
 * Everything an engine knows, as text: one line for each fact, in the order in which it came about. For scenarios and
 * for people who look for a defect; session ids and tokens are not masked.
 */
export function render(engine: Engine): string {
  const { state } = engine;
  const lines = [gate(state, engine.wakeAtMs)];
  for (const session of state.sessions.all()) {
    lines.push(sessionLine(session));
    for (const request of session.requests.live.values()) {
      if (request.stage === 'out') lines.push(`  detached ${name(request)} ${place(request)}`);
    }
    lines.push(...remembered(session));
  }
  for (const [id, reason] of state.sessions.ended()) lines.push(`ended ${id}: ${reason}`);
  for (const tree of state.table.allTrees()) lines.push(...treeLines(tree));
  return lines.join('\n');
}

function gate(state: EngineState, wakeAtMs: number): string {
  const closed = state.closedBecause();
  const why = closed === undefined ? 'granting' : closed.why;
  const { lastFence, reservedFence } = state.fences;
  const wake = wakeAtMs === Infinity ? 'never' : `at ${wakeAtMs}`;
  return `now ${state.nowMs}, ${why}, fence ${lastFence} of ${reservedFence}, wake ${wake}`;
}

function sessionLine(session: Session): string {
  const client = session.client === undefined ? '' : ` (${session.client})`;
  return `session ${session.id}${client} lease ${session.leaseMs} ends ${session.dueMs}`;
}

function remembered(session: Session): string[] {
  const finished = [...session.requests.finished.entries()].map(([id, outcome]) => `${id} ${outcome}`);
  const releases = [...session.requests.releases.entries()].map(([id, token]) => `${id} of ${token}`);
  return [
    ...(finished.length === 0 ? [] : [`  finished: ${finished.join(', ')}`]),
    ...(releases.length === 0 ? [] : [`  releases: ${releases.join(', ')}`]),
  ];
}

function treeLines(tree: L1Node): string[] {
  const lines = [`tree ${formatKey([tree.l1])}`];
  if (tree.writer !== undefined) lines.push(`  held by ${holder(tree.writer as Request)}`);
  for (const child of tree.children()) {
    if (child.holder === undefined && child.head === undefined) continue;
    const by = child.holder === undefined ? 'free' : `held by ${holder(child.holder as Request)}`;
    lines.push(`  ${formatKey([child.l2])} ${by}`);
    lines.push(...waiters(child, '    '));
  }
  lines.push(...waiters(tree, '  '));
  return lines;
}

function waiters(queue: WaitQueue, indent: string): string[] {
  const lines: string[] = [];
  for (let entry = queue.head; entry !== undefined; entry = entry.behind) {
    lines.push(`${indent}waits ${name(entry as Request)} ${place(entry as Request)}`);
  }
  return lines;
}

function holder(request: Request): string {
  const { grant } = request;
  const kept = request.kept ? ` kept until ${request.dueMs}` : '';
  return `${request.sessionId}/${request.requestId} fence ${grant?.fence} token ${grant?.token}${kept}`;
}

function name(request: Request): string {
  return `${request.sessionId}/${request.requestId} for ${formatKey(request.key)}`;
}

function callName(callId: CallId): string {
  return typeof callId === 'number' ? String(callId) : 'local';
}

function place(request: Request): string {
  const until = request.dueMs === Infinity ? '' : ` until ${request.dueMs}`;
  const calls = request.calls === undefined ? '' : ` calls ${allOf(request.calls).map(callName).join(' ')}`;
  return `as #${request.arrival}${until}${calls}`;
}
