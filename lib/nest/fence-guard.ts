import { Inject, Injectable, Optional, type CanActivate, type ExecutionContext } from '@nestjs/common';
import {
  InvalidOptionError,
  NotInitializedError,
  formatKey,
  isLockError,
  keyCovers,
  parseKey,
  type FenceProof,
  type LockKey,
} from '../core/index.js';
import { FENCE_HEADER, parseFenceHeader } from '../fencing/index.js';
import { FENCE_OPTIONS, type FenceSettings } from './fence-options.js';
import { fenceRuleOf, type FenceRule } from './fence-rule.js';
import { fenceSentWith } from './fence-source.js';
import { openSlot } from './lock-slot.js';
import { markFromRequest } from './request-key.js';

/**
 * Lets a call of a handler with `@Fenced` through only with a fence that is not stale, before pipes and interceptors run,
 * and leaves it in `request.klock.accepted`. Comes with the decorator; register it nowhere else.
 * @throws StaleFenceError (409, FAILED_PRECONDITION); InvalidOptionError, InvalidKeyError (400, INVALID_ARGUMENT) for a call
 * without a readable fence of the key or of its L1; what the fence store throws.
 */
@Injectable()
export class FenceGuard implements CanActivate {
  private readonly settings: FenceSettings;

  constructor(@Optional() @Inject(FENCE_OPTIONS) settings?: FenceSettings) {
    if (settings === undefined) {
      throw new NotInitializedError(
        '@Fenced needs a store to compare fences in: import FenceModule.forRoot({ store }) in the root module',
      );
    }
    this.settings = settings;
  }

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const rule = fenceRuleOf(context.getHandler());
    if (rule === undefined) return true;
    const proof = this.proofFor(rule, context);
    await this.settings.store.accept(proof);
    const slot = openSlot(context);
    slot.accepted = proof;
    slot.acceptedBy = rule;
    return true;
  }

  private proofFor(rule: FenceRule, context: ExecutionContext): FenceProof {
    try {
      const key = this.fullKey(rule.keyOf(context.getArgs()));
      return this.choose(parseFenceHeader(sent(context, rule, key)), key, rule);
    } catch (error) {
      throw isLockError(error) ? markFromRequest(error) : error;
    }
  }

  private fullKey(key: LockKey): LockKey {
    const { prefix } = this.settings;
    return prefix === '' ? key : parseKey([prefix + key[0], ...key.slice(1)] as unknown as LockKey);
  }

  /** A flow may hold locks of several stores; those of ours come first. */
  private choose(proofs: readonly FenceProof[], key: LockKey, { label }: FenceRule): FenceProof {
    const covering = proofs.filter((proof) => keyCovers(proof.key, key));
    const { stores } = this.settings.store;
    const chosen = covering.find(({ store }) => stores?.includes(store) === true) ?? covering[0];
    if (chosen !== undefined) return chosen;
    const keys = proofs.map((proof) => formatKey(proof.key)).join(', ');
    throw refusal(
      `${label} needs the fence of ${formatKey(key)}, but ${FENCE_HEADER} carries those of ${keys}`,
      keys,
    );
  }
}

function sent(context: ExecutionContext, { label }: FenceRule, key: LockKey): unknown {
  const value = fenceSentWith(context);
  if (value !== undefined) return value;
  throw refusal(
    `${label} needs the fence of ${formatKey(key)}, but the call carries no ${FENCE_HEADER}`,
    value,
  );
}

function refusal(message: string, value: unknown): InvalidOptionError {
  return new InvalidOptionError(message, { option: FENCE_HEADER, value });
}
