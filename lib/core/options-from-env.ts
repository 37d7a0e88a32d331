import { InvalidOptionError } from './errors.js';
import {
  checkDuration,
  checkKeyPrefix,
  checkLabel,
  checkOneOf,
  checkWait,
  type InstanceOptions,
} from './options.js';
import { quote } from './quote.js';

/** What {@link optionsFromEnv} returns: instance options and the back end, ready for `KlockModule.forRoot`. */
export type EnvironmentOptions = InstanceOptions & {
  readonly name?: string;
  readonly graceMs?: number;
} & (
    | { readonly driver: 'memory' }
    | {
        readonly url: readonly string[];
        readonly authToken?: string;
        readonly transport?: 'auto' | 'tls' | 'insecure';
      }
  );

type Read = (variable: string, text: string) => unknown;

const wholeNumber: Read = (variable, text) =>
  checkDuration(variable, /^\d+$/.test(text) ? Number(text) : text);
const wait: Read = (variable, text) =>
  checkWait(variable, /^(\d+|Infinity)$/.test(text) ? Number(text) : text);
const truth: Read = (variable, text) => checkOneOf(variable, ['true', 'false'], text) === 'true';
/** What an address is, the driver says; never quoted here, since it may hold a password. */
const urls: Read = (variable, text) =>
  text.split(',').map((url) => {
    if (url.trim() !== '') return url.trim();
    throw new InvalidOptionError(`${variable} must be addresses with commas between, one of them is empty`, {
      option: variable,
      value: '(not shown)',
    });
  });

const VARIABLES: Readonly<Record<string, readonly [option: string, read: Read]>> = {
  KLOCK_DRIVER: ['driver', (variable, text) => checkOneOf(variable, ['memory'], text)],
  KLOCK_URL: ['url', urls],
  KLOCK_AUTH_TOKEN: ['authToken', (_, text) => text.trim()],
  KLOCK_TRANSPORT: ['transport', (variable, text) => checkOneOf(variable, ['auto', 'tls', 'insecure'], text)],
  KLOCK_NAME: ['name', checkLabel],
  KLOCK_NAMESPACE: ['namespace', checkKeyPrefix],
  KLOCK_CLIENT_NAME: ['clientName', checkLabel],
  KLOCK_TTL_MS: ['ttlMs', wholeNumber],
  KLOCK_RENEW: ['renew', truth],
  KLOCK_LOCAL_TTL_MS: ['localTtlMs', wholeNumber],
  KLOCK_MAX_HOLD_MS: ['maxHoldMs', wholeNumber],
  KLOCK_WAIT_MS: ['waitMs', wait],
  KLOCK_ATTEMPT_MS: ['attemptMs', wholeNumber],
  KLOCK_RENEW_EVERY_MS: ['renewEveryMs', wholeNumber],
  KLOCK_RENEW_TIMEOUT_MS: ['renewTimeoutMs', wholeNumber],
  KLOCK_MARGIN_MS: ['marginMs', wholeNumber],
  KLOCK_RELEASE_TIMEOUT_MS: ['releaseTimeoutMs', wholeNumber],
  KLOCK_GRACE_MS: ['graceMs', wholeNumber],
  KLOCK_REENTRY: ['reentry', (variable, text) => checkOneOf(variable, ['refuse', 'count'], text)],
  KLOCK_HANDOVER: ['handover', truth],
};

/**
 * Options from `KLOCK_*` variables: KLOCK_URL (several with commas) or KLOCK_DRIVER=memory for the back end, and
 * KLOCK_TTL_MS, KLOCK_WAIT_MS (also `Infinity`), KLOCK_NAMESPACE and so on for the rest. Other names are left alone,
 * since orchestrators set variables of their own for a service called klock.
 * @throws InvalidOptionError listing every variable that is wrong; a variable that is set must not be empty.
 */
export function optionsFromEnv(
  env: Readonly<Record<string, string | undefined>> = process.env,
): EnvironmentOptions {
  const options: Record<string, unknown> = {};
  const problems: InvalidOptionError[] = [];
  for (const [variable, [option, read]] of Object.entries(VARIABLES)) {
    const text = env[variable];
    if (text === undefined) continue;
    try {
      options[option] = read(variable, notBlank(variable, text));
    } catch (error) {
      problems.push(error as InvalidOptionError);
    }
  }
  problems.push(...backendProblems(env));
  if (problems.length > 0) throw together(problems);
  return options as unknown as EnvironmentOptions;
}

function notBlank(variable: string, text: string): string {
  if (text.trim() !== '') return text;
  throw new InvalidOptionError(`${variable} is set but empty, got ${quote(text)}`, {
    option: variable,
    value: text,
  });
}

/** An environment that names no back end must not silently mean locks of this process only (design D12). */
function backendProblems(env: Readonly<Record<string, string | undefined>>): InvalidOptionError[] {
  const { KLOCK_URL: url, KLOCK_DRIVER: driver } = env;
  if (url === undefined && driver === undefined) {
    return [
      new InvalidOptionError(
        'KLOCK_URL is not set (for locks of this process only, set KLOCK_DRIVER=memory)',
        { option: 'KLOCK_URL', value: url },
      ),
    ];
  }
  if (url === undefined || driver === undefined) return [];
  return [
    new InvalidOptionError(
      `KLOCK_DRIVER and KLOCK_URL exclude each other, got ${quote(driver)} and an address`,
      { option: 'KLOCK_DRIVER', value: driver },
    ),
  ];
}

function together(problems: readonly InvalidOptionError[]): InvalidOptionError {
  const [first] = problems;
  if (first === undefined || problems.length === 1) return first as InvalidOptionError;
  const list = problems.map((problem) => `- ${problem.message}`).join('\n');
  return new InvalidOptionError(`the environment has ${problems.length} problems:\n${list}`, {
    option: first.option,
    value: first.value,
  });
}
