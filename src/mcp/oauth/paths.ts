/** Where people let programs in by a code. */
export const DEVICE_PAGE = '/oauth/device';
/** RFC 8628 section 3.4. */
export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
