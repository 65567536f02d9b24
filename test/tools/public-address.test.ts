import { expect, test } from 'vitest';
import { isPublicAddress, isSameAddress } from '../../src/tools/web/public-address.ts';
import { createWebfetch, type WebfetchOptions } from '../../src/tools/webfetch.ts';
import { call } from './support.ts';

test.each([
  '0.0.0.0',
  '10.1.2.3',
  '100.64.0.1',
  '100.100.100.200',
  '127.0.0.1',
  '127.255.255.254',
  '168.63.129.16',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.192',
  '192.0.2.1',
  '192.168.1.1',
  '198.18.0.1',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '239.255.255.250',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::7f00:1',
  '::ffff:127.0.0.1',
  '::ffff:8.8.8.8',
  '::ffff:a9fe:a9fe',
  '::ffff:0:127.0.0.1',
  '64:ff9b::127.0.0.1',
  '64:ff9b::8.8.8.8',
  '64:ff9b:1::1',
  '100::1',
  '2001::1',
  '2001:0:4136:e378::1',
  '2001:2::1',
  '2001:db8::1',
  '2002:7f00:1::1',
  '2002:a9fe:a9fe::',
  '3fff::1',
  '5f00::1',
  'fc00::1',
  'fd00:ec2::254',
  'fe80::1',
  'fe80::1%eth0',
  'fec0::1',
  'ff02::1',
  '2600::5efe:7f00:1',
  '2600::5efe:127.0.0.1',
  '2600:1:2:3:0:5efe:a00:1',
  '2600:1:2:3:200:5efe:a9fe:a9fe',
  'localhost',
  '2130706433',
  '0x7f.1',
  '',
])('%s is not public', (address) => expect(isPublicAddress(address)).toBe(false));

test.each([
  '1.1.1.1',
  '8.8.8.8',
  '100.63.255.255',
  '100.128.0.1',
  '172.15.0.1',
  '172.32.0.1',
  '192.167.0.1',
  '198.17.0.1',
  '223.255.255.255',
  '2606:4700:4700::1111',
  '2a00:1450:4001:82a::200e',
  '2001:4860:4860::8888',
  '2600:1:2:3:4:5efe:a00:1',
  '2600:5efe::1',
  '2600:1:2:3:4:5:6:5efe',
])('%s is public', (address) => expect(isPublicAddress(address)).toBe(true));

test("the machine's own addresses are refused like private ones, in every spelling", async () => {
  const own = ['93.184.216.34', '2606:2800:220:1:248:1893:25c8:1946'];
  const resolve: NonNullable<WebfetchOptions['resolve']> = (_name, _options, done) =>
    done(null, [{ address: own[1] as string, family: 6 }]);
  const webfetch = createWebfetch({ ownAddresses: () => own, resolve });
  for (const host of ['93.184.216.34', '0x5db8d822', '[2606:2800:0220:0001:0248:1893:25c8:1946]', 'my-own-name.example']) {
    const { isError, output } = await call(webfetch, '/', { url: `http://${host}/` });
    expect([isError, output], host).toEqual([true, expect.stringContaining('is not a public address')]);
  }
  expect(isSameAddress('93.184.216.35', own)).toBe(false);
});
