// Package common takes the place of a cloud SDK that Flannel's tencent-vpc backend imports and that cannot be had as a
// module here. It has just the names which that backend uses; flanneld with any other backend never comes by.
package common

func StringPtr(value string) *string { return &value }

func BoolPtr(value bool) *bool { return &value }

func StringPtrs(values []string) []*string {
	pointers := make([]*string, 0, len(values))
	for _, value := range values {
		pointers = append(pointers, StringPtr(value))
	}
	return pointers
}
