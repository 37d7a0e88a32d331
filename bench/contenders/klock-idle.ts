import { klockDriver } from 'klock/client';
import { addressOf, type Contender } from './contender.js';
import { klockClient } from './klock-client.js';

/** Longer than any measurement. */
const IDLE_MS = 600_000;

/** The klock driver for clients that do nothing and stay: their sessions go on renewing. */
export const contender: Contender = {
  title: 'klock driver, idle',
  family: 'klock',
  needs: 'klock',
  open: (addresses) =>
    klockClient(klockDriver({ url: addressOf(addresses, 'klock'), idleSessionMs: IDLE_MS })),
};
