package errors

// TencentCloudSDKError is only asked for by type, never made.
type TencentCloudSDKError struct{ Message string }

func (e *TencentCloudSDKError) Error() string { return e.Message }
