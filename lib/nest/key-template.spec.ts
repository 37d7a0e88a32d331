import { parseTemplate } from './key-template.js';
import { thrown } from './locked.spec-support.js';

const resolve = (template: string, ...args: unknown[]): string => parseTemplate(template, 'Users.m')(args);

describe('a key template', () => {
  it('puts arguments and paths into them where the braces are', () => {
    expect(resolve('user:{0}', 7)).toBe('user:7');
    expect(resolve('{1.tenant.id}/{0}', 'a', { tenant: { id: 10n } })).toBe('10/a');
    expect(resolve('{0.items.1.sku}', { items: [{}, { sku: 'x' }] })).toBe('x');
    expect(resolve('all')).toBe('all');
  });

  it('[B-074] takes 0 and 10n for values', () => {
    expect(resolve('user:{0.userId}', { userId: 0 })).toBe('user:0');
    expect(resolve('user:{0.userId}', { userId: 10n })).toBe('user:10');
  });

  it('[B-074] refuses every value that is no text, naming the method and the path, so that "undefined" never becomes a key', () => {
    const bad = [
      {},
      undefined,
      null,
      'text',
      { userId: null },
      { userId: '' },
      { userId: {} },
      { userId: NaN },
    ];
    for (const dto of [
      ...bad,
      { userId: Symbol('s') },
      { userId: [] },
      { userId: true },
      { userId: () => 1 },
    ]) {
      const error = thrown(() => resolve('user:{0.userId}', dto));
      expect(error).toMatchObject({ code: 'KEY_UNRESOLVED', name: 'InvalidKeyError' });
      expect((error as Error).message).toContain('{0.userId} of Users.m');
    }
  });

  it('[B-009] escapes what is put in, so that different arguments never give the same key', () => {
    expect(resolve('{0}:{1}', 'a:b', 'c')).not.toBe(resolve('{0}:{1}', 'a', 'b:c'));
    expect(resolve('{0}{1}', 'a%3A', 'b')).not.toBe(resolve('{0}{1}', 'a:', 'b'));
    expect(resolve('{0}', '{1}')).toBe('%7B1%7D');
    // One documented rule for text and numbers: they are the same key.
    expect(resolve('{0}', 1)).toBe(resolve('{0}', '1'));
    expect(thrown(() => resolve('{0}:{1}', 'a', ''))).toMatchObject({ code: 'KEY_UNRESOLVED' });
    expect(thrown(() => resolve('{0}:{1}', 'a'))).toMatchObject({ code: 'KEY_UNRESOLVED' });
  });

  it('leaves its own text as it is written', () => {
    expect(resolve('a:b/c%{0}', 'x')).toBe('a:b/c%x');
  });

  it('[B-074] is refused when the class is defined if it names a parameter, holds a stray brace or can never be a key', () => {
    const bad = [
      '{dto.userId}',
      '{}',
      '{ 0 }',
      '{0.}',
      '{0..a}',
      '{-1}',
      '{01}',
      '{0',
      '0}',
      '{{0}}',
      '',
      'x'.repeat(513),
      '\ud800',
    ];
    for (const template of bad) {
      const error = thrown(() => parseTemplate(template, 'Users.m'));
      expect(error).toMatchObject({ code: 'INVALID_KEY' });
      expect((error as Error).message).toContain('Users.m');
    }
    expect(thrown(() => parseTemplate(7, 'Users.m'))).toMatchObject({ code: 'INVALID_KEY' });
  });
});
