import {
  isLockError,
  LATER,
  type DriverHealth,
  type DriverHost,
  type LockUnavailableError,
} from '../../core/index.js';
import { errorOfOutcome, type ChannelClient, type NoAnswer } from '../../client/index.js';

/** What a health check may take. */
const HEALTH_TIMEOUT_MS = 2_000;

/**
 * Asks a server how it is by what it is for: a lock of a name nobody else can know. A session alone says nothing, since a
 * server that is quarantined opens and renews them; and what it said to the last acquire may be long over.
 */
export async function checkHealth(client: ChannelClient, host: DriverHost): Promise<DriverHealth> {
  const startedMs = host.clock.monoMs();
  const problem = await client.reach(HEALTH_TIMEOUT_MS);
  const reachedMs = host.clock.monoMs() - startedMs;
  if (problem !== undefined) return { ...notReached(problem), tookMs: reachedMs };
  return { ...(await grants(client, host)), tookMs: reachedMs };
}

async function grants(client: ChannelClient, { random, clock, settings }: DriverHost): Promise<DriverHealth> {
  const requestId = random.id();
  const late = new AbortController();
  const timer = clock.after(HEALTH_TIMEOUT_MS, () => late.abort(), { keepAlive: true });
  try {
    const answer = await client.acquire({
      requestId,
      key: [`klock-health/${requestId}`],
      ttlMs: settings.ttlMs,
      waitMs: 0,
      attemptMs: HEALTH_TIMEOUT_MS,
      renew: true,
      signal: late.signal,
    });
    // Answered or not: what is not given back now is given back by the client's own means.
    if (answer !== LATER && answer.granted) void client.release(answer);
    return { state: 'ok' };
  } catch (error) {
    return refused(error);
  } finally {
    timer.cancel();
  }
}

function refused(error: unknown): DriverHealth {
  const detail = error instanceof Error ? error.message : String(error);
  if (isLockError(error, 'BACKEND_MISCONFIGURED')) return { state: 'misconfigured', detail };
  if (!isLockError(error, 'LOCK_UNAVAILABLE')) return { state: 'unreachable', detail };
  const { storeCode } = error as LockUnavailableError;
  // What refuses this one lock for its limits serves others.
  const state = stateByCode(storeCode) ?? (storeCode === undefined ? 'unreachable' : 'ok');
  return { state, detail };
}

function notReached(problem: NoAnswer): DriverHealth {
  const error = errorOfOutcome(problem);
  const detail = error.message;
  if (isLockError(error, 'BACKEND_MISCONFIGURED')) return { state: 'misconfigured', detail };
  const code = problem.kind === 'refused' ? problem.refusal.code : undefined;
  return { state: stateByCode(code) ?? 'unreachable', detail };
}

function stateByCode(code: string | undefined): DriverHealth['state'] | undefined {
  if (code === 'SERVER_DRAINING') return 'draining';
  return code === 'SERVER_RECOVERING' || code === 'STORAGE_UNAVAILABLE' ? 'quarantined' : undefined;
}
