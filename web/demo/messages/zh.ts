import type { Messages } from '.';
import { formatsOf } from './format';

// The Chinese messages, in simplified characters.
export const zh: Messages = {
  lang: 'zh-Hans',
  format: formatsOf('zh-Hans'),

  save: '保存',

  account: {
    title: '我的账号',
    profile: '编辑资料',
    name: '名字',
    signature: '简介',
    profileSaved: '资料已保存。',
    password: '修改密码',
    currentPassword: '当前密码',
    newPassword: '新密码',
    changePassword: '确认修改',
    passwordHint: '修改后，其他设备上的登录都会退出。',
    passwordChanged: '密码已修改。',
    logOut: '退出登录',
    logOutEverywhere: '退出所有设备',
  },

  attempts: {
    logOutEverywhere: '退出所有设备',
  },
};
